"""Runs trained on a cluster: nothing is lost, nothing is trained twice, and the bits stay the same."""

import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from noiselimit import InputError, grid, train
from noiselimit.data.examples import DataSet
from noiselimit.engine.checkpoints import Part
from noiselimit.errors import Notice
from noiselimit.integrations.clusters import Ray, Slurm
from noiselimit.integrations.tasks import Lost, Task, split, work
from noiselimit.training import Progress
from tests.faults.commands import snapshot

ray = pytest.importorskip("ray")
fsspec = pytest.importorskip("fsspec")

SPECS = grid(
    method=["ce", "limit-l", "fw"],
    epochs=150,
    patience=150,
    batch_size=16,
    network="mlp",
    noise="uniform:0.3",
)


@pytest.fixture(scope="module")
def expected(blobs: DataSet, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What training in this process writes."""
    out = tmp_path_factory.mktemp("alone")
    train(SPECS, blobs, out=out, threads=1, device="cpu")
    return snapshot(out)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """A Ray cluster on this machine: a head without CPUs, and a node with two."""
    from ray.cluster_utils import Cluster

    health = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500}
    cluster = Cluster()
    cluster.add_node(num_cpus=0, include_dashboard=False, _system_config=health)
    cluster.add_node(num_cpus=2, include_dashboard=False)
    yield cluster
    cluster.shutdown()


def test_a_node_is_killed(nodes: Any, blobs: DataSet, tmp_path: Path, expected: dict[str, bytes]) -> None:
    epochs: dict[str, list[Any]] = {}
    killed: list[str] = []

    def kill(progress: Progress) -> None:
        if progress.record is None:
            return
        epochs.setdefault(progress.spec.hash, []).append(progress.record["epoch"])
        if len(epochs[progress.spec.hash]) == 3 and not killed:  # two are saved
            killed.append(progress.spec.hash)
            nodes.remove_node(*nodes.worker_nodes, allow_graceful=False)
            nodes.add_node(num_cpus=2, include_dashboard=False)

    engine = Ray(address=nodes.address, upload="memory://bucket/runs")
    with pytest.warns(Notice, match="lost"):
        runs = train(SPECS, blobs, out=tmp_path, engine=engine, checkpoints=0, progress=kill)
    assert snapshot(tmp_path) == expected
    assert epochs[killed[0]].count(1) == 1
    files = fsspec.filesystem("memory")
    for run in runs:
        assert run.path is not None
        for path in run.path.iterdir():
            assert files.cat(f"/bucket/runs/{run.path.name}/{path.name}") == path.read_bytes()


def test_an_interrupted_training_continues_without_the_cluster(
    nodes: Any, blobs: DataSet, tmp_path: Path, expected: dict[str, bytes]
) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.record is not None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SPECS, blobs, out=tmp_path, engine=Ray(address=nodes.address, tasks=1), progress=interrupt)
    (checkpoint,) = (tmp_path / ".checkpoints").iterdir()
    (tmp_path / ".checkpoints" / "task-killed").mkdir()  # what a killed process would have left
    checkpoint.rename(tmp_path / ".checkpoints" / "task-killed" / checkpoint.name)
    with pytest.warns(Notice, match="resuming 2 of 3 runs"):
        train(SPECS, blobs, out=tmp_path, threads=1, device="cpu")
    assert snapshot(tmp_path) == expected


def test_an_array_job(blobs: DataSet, tmp_path: Path, expected: dict[str, bytes]) -> None:
    pytest.importorskip("submitit")
    heard: list[Progress] = []
    engine = Slurm(scheduler="local", tasks=2, options={"timeout_min": 10})
    train(SPECS[:2], blobs, out=tmp_path, device="cpu", engine=engine, progress=heard.append)
    assert snapshot(tmp_path) == {name: each for name, each in expected.items() if name[:2] != "fw"}
    assert heard[-1].done == heard[-1].total == 300
    assert sum(progress.record is not None for progress in heard) == 300


class Losing(Slurm):
    """Loses every task."""

    def submit(self, tasks: Any, data: DataSet) -> list[Any]:
        return [None for _ in tasks]

    def has_ended(self, handle: Any) -> bool:
        return True

    def result(self, handle: Any) -> str | None:
        raise Lost("its machine died")


def test_what_cannot_work_is_said(blobs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noiselimit.integrations.clusters.CONNECT_TIMEOUT", 0.2)
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        port = silent.getsockname()[1]
        for engine, word in (
            ("rya", "did you mean 'ray'"),
            (Ray(address=f"127.0.0.1:{port}"), "timed out"),
            (Ray(address="ray://127.0.0.1:1"), "refused"),
            (Slurm(), "srun"),
            (Slurm(scheduler="local", options={"colour": "red"}), "colour"),
            (Slurm(scheduler="local", upload="nowhere://runs"), "nowhere"),
        ):
            with pytest.raises(InputError, match=word):
                train(SPECS, blobs, out=tmp_path / "runs", engine=engine)
    with pytest.warns(Notice, match="lost"), pytest.raises(InputError, match="its machine died"):
        train(SPECS, blobs, out=tmp_path / "runs", engine=Losing(scheduler="local"))
    assert not list(tmp_path.rglob("task-*"))
    with pytest.raises(InputError, match="needs out"):
        train(SPECS, blobs, engine="ray")
    task = Task(SPECS, tmp_path, Part("task-elsewhere", ()), {}, averaged=False, interval=None)
    assert "does not see" in str(work(task, blobs))
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match="ray is not installed"):
        train(SPECS, blobs, out=tmp_path, engine="ray")


def test_cohorts_are_split_by_cost() -> None:
    small, large = grid(seed=range(2), epochs=10), grid(seed=range(30), epochs=100)
    parts = list(split([small, large], 8))
    assert [len(part) for part in parts] == [2, *[4] * 6, 3, 3]
    assert sorted(spec.key for part in parts for spec in part) == sorted(spec.key for spec in small + large)

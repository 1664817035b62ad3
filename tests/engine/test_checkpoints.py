"""Interrupted training resumes and ends, bit by bit, like training that was never interrupted."""

import errno
import os
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noiselimit.data.examples import DataSet, make_examples
from noiselimit.engine import checkpoints as module
from noiselimit.engine.checkpoints import (
    COST_FACTOR,
    LEAST_SECONDS,
    Checkpoints,
    Interval,
    parse_interval,
    read_entries,
    write_checkpoint,
)
from noiselimit.engine.preparation import bind
from noiselimit.engine.results import RowState, States
from noiselimit.errors import InputError, Notice
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.training import Progress, Stopped, train
from tests.engine.interrupting import EVERYTHING, Interrupted, assert_same_run, train_interrupted

SPEC = RunSpec("limit-l", epochs=8, batch_size=16, network="linear", noise="uniform:0.3")


@pytest.fixture(scope="module")
def undisturbed(blobs: DataSet) -> Run:
    return train(SPEC, blobs, device="cpu", threads=1)[0]


def files(out: Path) -> list[Path]:
    return sorted((out / ".checkpoints").iterdir())


def epochs(out: Path) -> list[int]:
    return [int(path.name.split("-")[1]) for path in files(out)]


def specs_of_every_kind() -> list[RunSpec]:
    """Methods with and without predictor, parents, matrices and draws; mixed lengths, patience and rates."""
    shared = {"network": "small-cnn", "batch_size": 17, "noise": "uniform:0.4", "dropout": 0.2}
    varied = {**shared, "augmentation": "flip-crop"}
    methods = ["ce", "limit-l", "limit-g+s", "fw", "limit-l+init"]
    mixed = grid(method=methods, beta=[3], sigma=[0.1], epochs=4, **varied)
    short = grid(method=["limit-l", "ce"], beta=[10], seed=1, epochs=3, patience=1, **varied)
    decayed = {"optimiser": "sgd", "learning_rate": 0.01, "schedule": "cosine", "weight_decay": 0.01}
    others = grid(method=["limit-g", "dmi"], beta=[1], epochs=3, **decayed, **shared)
    failing = [replace(others[0], learning_rate=1e30, epochs=4)]
    return mixed + short + others + failing


@pytest.fixture(scope="module")
def weighted(tiny_images: DataSet) -> DataSet:
    examples = tiny_images.examples
    weights = np.random.default_rng(5).uniform(0.2, 2, len(examples))
    return DataSet("weighted", make_examples(np.asarray(examples.inputs), examples.labels, weights=weights))


@pytest.fixture(scope="module")
def runs_of_every_kind(weighted: DataSet) -> list[Run]:
    runs = train(specs_of_every_kind(), weighted, device="cpu", threads=1, averaged=True)
    assert sum(run.failed for run in runs) == 1
    assert any(len(run.history) < run.spec.epochs for run in runs if not run.failed)
    return runs


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    stops=st.lists(st.tuples(st.integers(0, 14), st.integers(1, 3)), min_size=1, max_size=3),
    order=st.permutations(range(len(specs_of_every_kind()))),
    threads=st.integers(1, 3),
)
def test_interrupted_anywhere_and_often_it_ends_the_same(
    weighted: DataSet,
    runs_of_every_kind: list[Run],
    stops: list[tuple[int, int]],
    order: list[int],
    threads: int,
) -> None:
    """With other blocks, in another order and with other runs from call to call."""
    specs = specs_of_every_kind()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        for number, (after, blocks) in enumerate(stops):
            some = specs[: len(specs) - number]
            train_interrupted(some, weighted, out, after, threads=blocks, averaged=True)
        ordered = [specs[i] for i in order]
        runs, _ = train_interrupted(ordered, weighted, out, EVERYTHING, threads=threads, averaged=True)
        for i, run in zip(order, runs, strict=True):
            assert_same_run(runs_of_every_kind[i], run)
        names = {path.name for path in out.iterdir()}
        assert {run.spec.folder_name for run in runs} <= names
        assert ".checkpoints" not in names


def test_runs_that_start_from_others_resume_too(
    weighted: DataSet, runs_of_every_kind: list[Run], tmp_path: Path
) -> None:
    """With the estimated matrix, or the weights, that they started with."""
    everything = specs_of_every_kind()
    chosen = [i for i, spec in enumerate(everything) if spec.method in ("fw", "dmi", "limit-l+init")]
    specs = [everything[i] for i in chosen]

    def interrupt_children(news: Progress) -> None:
        if news.record is not None and news.spec.parent is not None and news.record["epoch"] == 3:
            raise Interrupted

    how = {"device": "cpu", "threads": 1, "averaged": True, "checkpoints": 0}
    with pytest.raises(Interrupted):
        train(specs, weighted, out=tmp_path, progress=interrupt_children, **how)
    runs, (warning,) = train_interrupted(specs, weighted, tmp_path, EVERYTHING, averaged=True)
    assert "2 of 5 runs from epoch 2" in warning  # the third belongs to a cohort that had not begun
    for i, run in zip(chosen, runs, strict=True):
        assert_same_run(runs_of_every_kind[i], run)


def test_progress_counts_the_epochs_of_checkpoints(blobs: DataSet, tmp_path: Path) -> None:
    specs = [RunSpec("ce", epochs=epochs, batch_size=16, network="linear") for epochs in (2, 6, 7)]
    train_interrupted(specs, blobs, tmp_path, after=2 + 2 * 4)
    news: list[Progress] = []
    with pytest.warns(Notice, match="2 of 3 runs from epoch 4"):
        train(specs, blobs, out=tmp_path, device="cpu", threads=1, progress=news.append)
    assert [each.done for each in news[:4]] == [2, 2 + 4, 2 + 4 + 4, 2 + 5 + 4]
    assert news[-1].done == news[-1].total == 15
    assert min(int(each.record["epoch"] or 0) for each in news if each.record is not None) == 5


def test_two_generations_are_kept_and_none_at_the_end(blobs: DataSet, tmp_path: Path) -> None:
    train_interrupted([SPEC], blobs, tmp_path, after=5)
    assert epochs(tmp_path) == [4, 5]
    (tmp_path / ".checkpoints" / ".checkpoint.0123abcd.tmp").write_bytes(b"left by a killed process")
    train_interrupted([SPEC], blobs, tmp_path, after=1)
    assert epochs(tmp_path) == [5, 6]
    (run,) = train_interrupted([SPEC], blobs, tmp_path, EVERYTHING)[0]
    assert list(tmp_path.iterdir()) == [run.path]


@pytest.mark.parametrize(("short", "kept"), [(60.0, [3]), (0.0, [])])
def test_a_short_epoch_is_finished_and_saved_if_training_is_stopped(
    blobs: DataSet,
    undisturbed: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    short: float,
    kept: list[int],
) -> None:
    monkeypatch.setattr("noiselimit.engine.block.SHORT_EPOCH", short)
    done: list[Progress] = []
    asked: list[int] = []

    def stop() -> bool:
        asked.append(len(done))
        return asked.count(2) > 2 or 3 in asked  # at the first step of the third epoch, or at its end

    with pytest.raises(Stopped):
        train(SPEC, blobs, out=tmp_path, device="cpu", threads=1, progress=done.append, stop=stop)
    assert [int(path.name.split("-")[1]) for path in tmp_path.glob(".checkpoints/*")] == kept
    runs, _ = train_interrupted([SPEC], blobs, tmp_path, EVERYTHING)
    assert_same_run(undisturbed, runs[0])


def test_other_runs_keep_their_checkpoints(blobs: DataSet, tmp_path: Path) -> None:
    first, second = (RunSpec("ce", epochs=5, seed=seed, batch_size=16, network="linear") for seed in (0, 1))
    train_interrupted([first], blobs, tmp_path, after=3)
    _, (warning,) = train_interrupted([second], blobs, tmp_path, EVERYTHING)
    assert "starts over" in warning
    _, (warning,) = train_interrupted([first, second], blobs, tmp_path, EVERYTHING)
    assert "1 of 2 runs from epoch 3" in warning
    assert not (tmp_path / ".checkpoints").exists()


def test_a_state_without_averages_is_not_used_if_they_are_wanted(blobs: DataSet, tmp_path: Path) -> None:
    spec = RunSpec("ce", epochs=6, batch_size=16, network="linear")
    (whole,) = train(spec, blobs, device="cpu", threads=1, averaged=True)
    train_interrupted([spec], blobs, tmp_path / "a", after=4)
    runs, (warning,) = train_interrupted([spec], blobs, tmp_path / "a", EVERYTHING, averaged=True)
    assert "from epoch 3" in warning  # the older one, before averages begin
    assert_same_run(whole, runs[0])
    train_interrupted([spec], blobs, tmp_path / "b", after=5)
    _, (warning,) = train_interrupted([spec], blobs, tmp_path / "b", after=2, averaged=True)
    assert "starts over" in warning
    runs, (warning,) = train_interrupted([spec], blobs, tmp_path / "b", EVERYTHING, averaged=True)
    assert "from epoch 2" in warning
    assert_same_run(whole, runs[0])


def test_other_files_are_not_touched_and_off_neither_writes_nor_reads(blobs: DataSet, tmp_path: Path) -> None:
    train_interrupted([SPEC], blobs, tmp_path, after=3, checkpoints="off")
    folder = tmp_path / ".checkpoints"
    folder.mkdir()
    for name in ("precious.tmp", ".0123.tmp", "mine.safetensors", "epoch-1-best.safetensors"):
        (folder / name).write_text("mine")
    os.mkfifo(folder / f"epoch-00003-{'0' * 32}.safetensors")
    mine = files(tmp_path)
    train_interrupted([SPEC], blobs, tmp_path, after=3)
    saved = files(tmp_path)
    assert train_interrupted([SPEC], blobs, tmp_path, after=1, checkpoints="off") == ([], [])
    assert files(tmp_path) == saved
    _, (warning,) = train_interrupted([SPEC], blobs, tmp_path, EVERYTHING)
    assert "from epoch 3" in warning
    assert files(tmp_path) == mine


@pytest.mark.parametrize("damage", ["flipped", "truncated", "not safetensors"])
@pytest.mark.parametrize("everything", [False, True])
def test_a_damaged_checkpoint_is_reported_and_the_older_one_used(
    blobs: DataSet, undisturbed: Run, tmp_path: Path, damage: str, everything: bool
) -> None:
    train_interrupted([SPEC], blobs, tmp_path, after=5)
    damaged = files(tmp_path)[0 if everything else 1 :]
    for path in damaged:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 4
        cut = {"flipped": content, "truncated": content[: len(content) // 2], "not safetensors": b"?"}
        path.write_bytes(cut[damage])
    runs, warned = train_interrupted([SPEC], blobs, tmp_path, EVERYTHING)
    assert all(str(path) in warned[0] for path in damaged)
    assert ["from epoch 4" in text for text in warned[1:]] == [True] * (not everything)
    assert_same_run(undisturbed, runs[0])
    assert list(tmp_path.iterdir()) == [runs[0].path]


def test_a_full_disk_is_reported_once_and_training_continues(
    blobs: DataSet, undisturbed: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_interrupted([SPEC], blobs, tmp_path, after=2)

    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(module, "sync", full)
        _, warned = train_interrupted([SPEC], blobs, tmp_path, after=3)
        assert epochs(tmp_path) == [1, 2]
    assert len(warned) == 2
    assert "No space left" in warned[1]
    runs, _ = train_interrupted([SPEC], blobs, tmp_path, EVERYTHING)
    assert_same_run(undisturbed, runs[0])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".checkpoints").write_text("in the way")
    runs, (warning,) = train_interrupted([SPEC], blobs, tmp_path / "other", EVERYTHING)
    assert runs
    assert "File exists" in warning


def make_state(epoch: int, **tensors: torch.Tensor) -> RowState:
    history = tuple({"epoch": number} for number in range(1, epoch + 1))
    tensors = tensors or {"classifier.weights": torch.full((3,), float(epoch))}
    return RowState(epoch, 5 * epoch, history, False, tensors)


@pytest.fixture
def spec(blobs: DataSet) -> RunSpec:
    return bind(RunSpec("ce", epochs=9, network="linear"), blobs, "float32")


def test_the_format_is_readable_by_anyone_and_a_newer_one_is_refused(
    spec: RunSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stacked = torch.arange(24.0).view(2, 3, 4)
    path = write_checkpoint(tmp_path, [(spec, make_state(2, row=stacked[1], column=stacked[:, :, 1]))])
    found = safetensors.torch.load_file(path)
    assert torch.equal(found[f"{spec.hash}/row"], stacked[1])
    assert torch.equal(found[f"{spec.hash}/column"], stacked[:, :, 1])
    assert read_entries(path)[spec.hash].epoch == 2
    monkeypatch.setattr(module, "FORMAT", 0)
    with pytest.raises(InputError, match="newer"):
        read_entries(path)


def test_a_state_of_another_network_is_refused(blobs: DataSet, undisturbed: Run, tmp_path: Path) -> None:
    """As when the code behind a dotted path has changed: the hash covers only its name."""
    (tmp_path / ".checkpoints").mkdir()
    write_checkpoint(tmp_path / ".checkpoints", [(undisturbed.spec, make_state(2))])
    with pytest.raises(InputError, match="does not fit"):
        train_interrupted([SPEC], blobs, tmp_path, EVERYTHING)


class SlowWriter:
    """Makes writing wait until `may` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may, self.began, self.wrote = threading.Event(), threading.Event(), threading.Event()
        write = module.write_checkpoint

        def wait_and_write(folder: Path, states: States) -> Path:
            self.began.set()
            assert self.may.wait(20)
            path = write(folder, states)
            self.wrote.set()
            return path

        monkeypatch.setattr(module, "write_checkpoint", wait_and_write)


def test_a_gpu_does_not_wait_for_checkpoints(
    spec: RunSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(module, "COST_FACTOR", 0)
    writer, taken = SlowWriter(monkeypatch), []

    def take(epoch: int) -> States:
        taken.append(epoch)
        return [(spec, make_state(epoch))]

    other = replace(spec, seed=7)
    with Checkpoints(tmp_path, None, averaged=False, in_background=True) as checkpoints:
        save = checkpoints.saver()
        save(lambda: take(1), lambda: 0, False)
        assert writer.began.wait(20)
        save(lambda: take(2), lambda: 0, False)  # skipped
        writer.may.set()
        assert [checkpoints.newest(each) is None for each in (spec, other)] == [False, True]
        save(lambda: take(3), lambda: 0, False)
        found = checkpoints.load(spec)
    assert taken == [1, 3]
    assert (found.epoch, found.step) == (3, 15)
    assert found.history == make_state(3).history
    assert torch.equal(found.tensors["classifier.weights"], torch.full((3,), 3.0))


def test_every_epoch_means_every_epoch(spec: RunSpec, tmp_path: Path) -> None:
    with Checkpoints(tmp_path, 0.0, averaged=False, in_background=True) as checkpoints:
        save = checkpoints.saver()
        for epoch in (1, 2, 3):
            save(lambda epoch=epoch: [(spec, make_state(epoch))], lambda: 0, False)
    assert epochs(tmp_path) == [2, 3]


def test_an_interrupted_training_does_not_wait_long(
    spec: RunSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EXIT_TIMEOUT", 0.05)
    writer = SlowWriter(monkeypatch)

    def interrupted() -> None:
        with Checkpoints(tmp_path, 0.0, averaged=False, in_background=True) as checkpoints:
            checkpoints.saver()(lambda: [(spec, make_state(1))], lambda: 0, False)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not writer.may.is_set()
    writer.may.set()
    assert writer.wrote.wait(20)
    assert epochs(tmp_path) == [1]


@given(
    cost=st.floats(0.001, 100),
    epoch=st.floats(0.01, 500),
    size=st.integers(0, 10**11),
    count=st.integers(1, 2000),
)
def test_automatic_checkpoints_take_less_than_a_fiftieth_of_the_time(
    cost: float, epoch: float, size: int, count: int
) -> None:
    """After the first, whose cost is a guess; and they come as soon as that allows."""
    now = 0.0
    interval = Interval(None, lambda: now)
    ends: list[float] = []
    for _ in range(count):
        now += epoch
        if interval.is_due(lambda: size):
            now += cost
            interval.record(cost)
            ends.append(now)
        elif ends:
            assert now - ends[-1] < max(LEAST_SECONDS, COST_FACTOR * cost)
    assert ends or now < 300
    between = ends[-1] - ends[0] if ends else 0
    assert cost * (len(ends) - 1) <= 0.02 * between + 1e-6


def test_a_fixed_interval() -> None:
    now = 0.0
    every, rare = Interval(0.0, lambda: now), Interval(7.0, lambda: now)
    assert every.is_due(lambda: 10**12)
    assert not rare.is_due(lambda: 0)
    now = 7.0
    assert rare.is_due(lambda: 0)
    rare.record(100.0)
    assert not rare.is_due(lambda: 0)
    assert [parse_interval(text) for text in ("auto", "off", "2.5", 0)] == [None, float("inf"), 2.5, 0]
    for bad in ("often", -1, float("nan"), float("inf"), None, [1]):
        with pytest.raises(InputError, match="checkpoints is"):
            parse_interval(bad)

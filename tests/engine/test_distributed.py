"""Two processes give the results of one; if one is killed, the other says so, and any number can resume."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from noiselimit import InputError, Run, RunSpec, load_run, train
from noiselimit.cli.main import run
from noiselimit.data.examples import DataSet
from noiselimit.engine.distributed import meet
from noiselimit.engine.preparation import bind
from tests.engine.process_pair import HOW, TRAIN, pair, train_all


def assert_close(first: Run, second: Run) -> None:
    """Up to rounding, with the same examples in the same places."""
    for one, other in zip(first.history, second.history, strict=True):
        assert {name: value or 0 for name, value in one.items()} == pytest.approx(
            {name: value or 0 for name, value in other.items()}, rel=1e-3, abs=1e-4
        )
    for name, values in first.outputs.items():
        if values.dtype.kind == "f":
            assert np.allclose(values, second.outputs[name], atol=1e-3), name
        elif not str(name).endswith("d_label"):  # predicted and suggested: there may be ties
            assert values.equals(second.outputs[name]), name
    for name, tensor in first.weights.classifier.items():
        assert torch.allclose(tensor, second.weights.classifier[name], rtol=1e-2, atol=1e-3), name
    assert (first.averaged is None) == (second.averaged is None)
    if first.averaged is not None and second.averaged is not None:
        assert np.allclose(first.averaged.classifier, second.averaged.classifier, atol=1e-3)


def saved(folder: Path) -> list[Run]:
    return [load_run(each.parent) for each in folder.glob("runs/*/spec.json")]


def test_two_processes_train_as_one(tmp_path: Path) -> None:
    with pair("train", tmp_path / "two") as finish:
        alone = train_all(tmp_path / "one")
        ended = finish()
    assert [code for code, _, _ in ended] == [0, 0], ended
    found = {each.spec.hash: each for each in saved(tmp_path / "two")}
    assert len(found) == len(alone) + 1  # and the parent of dmi and fw
    for each in alone:
        other = found[each.spec.hash]
        assert other.outputs["index"].is_unique
        assert other.metrics["processes"] == 2
        assert_close(each, other)
    (histories, refused), (same, also_refused) = (out.splitlines() for _, out, _ in ended)
    assert histories == same
    words = ["batch_size", "data", "checkpoints", "Stopped"]
    for said in zip(words, json.loads(refused), json.loads(also_refused), strict=True):
        assert all(said[0] in each for each in said), said


@pytest.mark.filterwarnings("ignore::noiselimit.errors.Notice")
def test_a_killed_process_and_resuming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pair("kill", tmp_path / "two", *TRAIN) as finish:
        (code, _, err), (killed, _, _) = finish()
    assert (code, killed) == (2, -9), err
    assert len(err.splitlines()) == 1
    assert "another process" in err
    assert "Traceback" not in err
    shutil.copytree(tmp_path / "two", tmp_path / "one")
    with pair("resume", tmp_path / "two", *TRAIN) as finish:
        for folder in ("one", "whole"):
            (tmp_path / folder).mkdir(exist_ok=True)
            monkeypatch.chdir(tmp_path / folder)
            assert run(TRAIN) == 0
        ended = finish()
    assert [code for code, _, _ in ended] == [0, 0], ended
    assert "epoch 2" in ended[0][2]
    assert not ended[1][1] + ended[1][2]
    (whole,) = saved(tmp_path / "whole")
    for folder in (tmp_path / "one", tmp_path / "two"):
        (resumed,) = saved(folder)
        assert_close(whole, resumed)
        names = {each.name for each in (folder / "runs").iterdir()}
        assert names == {resumed.spec.folder_name, "report.html"}


def test_a_restart_does_not_see_addresses_of_the_last_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    # The store is torchrun's, which outlives the processes.
    kept = torch.distributed.HashStore()  # type: ignore[attr-defined]
    monkeypatch.setattr(torch.distributed, "rendezvous", lambda *_, **__: iter([(kept, 0, 2)]))
    for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.setenv(name, "2")
    for attempt in ("0", "1"):
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", attempt)
        store, *numbers = meet()
        assert numbers == [0, 2]
        assert not store.check(["address"])
        store.set("address", "127.0.0.1")


def test_without_a_process_group(blobs: DataSet) -> None:
    with pytest.raises(InputError, match="process group"):
        train(RunSpec(), blobs, distributed=True, **HOW)


def test_local_batch_norm_is_another_result(blobs: DataSet) -> None:
    local = RunSpec("ce", batch_norm="local")
    assert bind(local, blobs).hash == bind(RunSpec("ce"), blobs).hash
    assert bind(local, blobs, distributed=True).hash != bind(RunSpec("ce"), blobs, distributed=True).hash

"""Beside a GPU checkpoints are written in the background: training waits for none of them."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from noiselimit.data.examples import DataSet
from noiselimit.engine import checkpoints as call
from noiselimit.engine.checkpoint_file import Store
from noiselimit.engine.checkpoints import Checkpoints, CohortKeeper
from noiselimit.engine.results import MEASURED, WHERE_KNOWN, RowState
from noiselimit.errors import Notice
from noiselimit.runs.binding import bind
from noiselimit.runs.spec import RunSpec


def state(epoch: int) -> RowState:
    unknown = dict.fromkeys(WHERE_KNOWN, None)
    history = tuple(dict.fromkeys(MEASURED, number) | unknown for number in range(1, epoch + 1))
    tensors = {"classifier.weights": torch.full((3,), float(epoch))}
    return RowState(epoch, 5 * epoch, history, 0.1, float("inf"), False, tensors)


class Writing:
    """Makes the store wait until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may, self.began, real = threading.Event(), threading.Event(), Store.add

        def add(store: Store, states: object) -> None:
            self.began.set()
            assert self.may.wait(20)
            real(store, states)  # type: ignore[arg-type]

        monkeypatch.setattr(Store, "add", add)


@pytest.fixture
def spec(blobs: DataSet) -> RunSpec:
    return bind(RunSpec("ce", epochs=9, network="linear"), blobs, "float32")


def test_nobody_waits_and_what_comes_meanwhile_is_left_out(
    spec: RunSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noiselimit.engine.checkpoints.LEAST_SECONDS", 0.0)
    monkeypatch.setattr("noiselimit.engine.checkpoints.TIMES_ITS_COST", 0)
    writing, taken = Writing(monkeypatch), []

    def take(epoch: int) -> dict[int, RowState]:
        taken.append(epoch)
        return {0: state(epoch)}

    with Checkpoints(tmp_path, None, averaged=False, in_background=True) as checkpoints:
        keeper = CohortKeeper(checkpoints, [replace(spec, seed=7), spec])
        keep = keeper.of_block([1])
        keep(lambda: take(1), lambda: 0)
        assert writing.began.wait(20)
        keep(lambda: take(2), lambda: 0)
        assert taken == [1]
        assert not (tmp_path / ".checkpoints").exists()
        writing.may.set()
        assert keeper.epochs([0, 1]) == [0, 1]
        keep(lambda: take(3), lambda: 0)
        assert keeper.epochs([1]) == [3]
        (found,) = keeper.states([1])
    assert taken == [1, 3]
    assert found.history == state(3).history
    assert (found.step, found.capacity, found.estimate) == (15, 0.1, float("inf"))
    assert torch.equal(found.tensors["classifier.weights"], torch.full((3,), 3.0))
    assert found.seconds > 0


def test_asked_for_after_every_epoch_none_is_left_out(spec: RunSpec, tmp_path: Path) -> None:
    with Checkpoints(tmp_path, 0.0, averaged=False, in_background=True) as checkpoints:
        keep = CohortKeeper(checkpoints, [spec]).of_block([0])
        for epoch in (1, 2, 3):
            keep(lambda epoch=epoch: {0: state(epoch)}, lambda: 0)  # type: ignore[misc]
    assert sorted(path.name[:11] for path in (tmp_path / ".checkpoints").iterdir()) == [
        "epoch-00002",
        "epoch-00003",
    ]


def test_an_interrupted_training_does_not_wait_for_long(
    spec: RunSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call, "PATIENCE", 0.05)
    writing = Writing(monkeypatch)
    checkpoints = Checkpoints(tmp_path, 0.0, averaged=False, in_background=True)

    def interrupted() -> None:
        with checkpoints:
            CohortKeeper(checkpoints, [spec]).of_block([0])(lambda: {0: state(1)}, lambda: 0)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not writing.may.is_set()
    writing.may.set()
    checkpoints.wait()
    assert len(list((tmp_path / ".checkpoints").iterdir())) == 1


def test_what_goes_wrong_is_said_by_who_trains(spec: RunSpec, tmp_path: Path) -> None:
    strange = replace(state(1), tensors={"classifier.weights": torch.zeros(2, dtype=torch.complex64)})

    def training() -> None:
        with Checkpoints(tmp_path, 0.0, averaged=False, in_background=True) as checkpoints:
            keep = CohortKeeper(checkpoints, [spec]).of_block([0])
            for _ in range(3):
                keep(lambda: {0: strange}, lambda: 0)

    with pytest.warns(Notice, match=r"no checkpoint could be written to .* \(KeyError") as said:
        training()
    assert len(said) == 1
    assert not (tmp_path / ".checkpoints").exists()

"""Between checkpoints, small states are held in memory: an interruption loses next to nothing."""

from dataclasses import replace
from pathlib import Path

import pytest
from broken_off import assert_same_run, train_broken
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.examples import DataSet
from noiselimit.engine import checkpoints as at_hand
from noiselimit.engine.checkpoint_file import read_entries
from noiselimit.engine.checkpoints import AtHand, CopyTimes
from noiselimit.engine.results import RowState
from noiselimit.runs.binding import bind
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.training import train

SPECS = grid(
    method=["ce", "limit-l"], seed=[0, 1], epochs=6, batch_size=16, network="mlp", noise="uniform:0.3"
)


@pytest.fixture
def _after_every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_hand, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(at_hand, "TIMES_ITS_COST", 0)
    monkeypatch.setattr("noiselimit.engine.checkpoints.LEAST_SECONDS", 1e9)  # no checkpoint is due


def kept_epochs(out: Path) -> list[int]:
    entries = [read_entries(path) for path in (out / ".checkpoints").glob("*.safetensors")]
    return sorted(entry.epoch for each in entries for entry in each.values())


@pytest.mark.usefixtures("_after_every_epoch")
@pytest.mark.parametrize(("threads", "after"), [(1, 14), (2, 14), (1, 17)])
def test_an_interrupted_training_goes_on_from_its_last_epoch(
    blobs: DataSet, tmp_path: Path, threads: int, after: int
) -> None:
    runs, _ = train_broken(SPECS, blobs, tmp_path, after, checkpoints="auto", threads=threads, averaged=True)
    assert runs is None
    epochs = kept_epochs(tmp_path)
    assert len(epochs) == 4
    if threads == 1:
        assert epochs == [after // 4] * 4
    runs, said = train_broken(SPECS, blobs, tmp_path, 10**9, checkpoints="auto", threads=1, averaged=True)
    assert runs is not None
    assert any("4 of 4 runs go on from epoch" in text for text in said)
    for one, other in zip(train(SPECS, blobs, threads=1, averaged=True), runs, strict=True):
        assert_same_run(one, other)


@pytest.mark.usefixtures("_after_every_epoch")
def test_what_would_take_long_to_write_is_not_held(
    blobs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_hand, "SECONDS", 1e-9)
    train_broken(SPECS, blobs, tmp_path, 14, checkpoints="auto")
    assert kept_epochs(tmp_path) == []


def test_others_count_and_the_newest_state_of_a_run_is_kept(blobs: DataSet) -> None:
    held, speed = AtHand(), int(at_hand.ASSUMED_SPEED)
    spec = bind(RunSpec("ce", epochs=9), blobs, "float32")
    older, newer = (RowState(epoch, epoch, (), 0.0, 0.0, False, {}) for epoch in (1, 2))
    assert held.has_room("first", speed)
    held.hold("first", speed, [(spec, newer)])
    assert held.has_room("first", speed), "in its own place"
    assert not held.has_room("second", 1)
    held.hold("second", 0, [(spec, older), (replace(spec, seed=5), older)])
    assert {(each.seed, state.epoch) for each, state in held.newest()} == {(0, 2), (5, 1)}
    held.drop("first")
    assert held.has_room("second", speed)
    held.measured(100, 100.0)  # a slow disk
    assert not held.has_room("second", 2)
    held.measured(10**12, 1.0)
    assert not held.has_room("second", speed + 1), "memory matters as well"


@given(cost=st.floats(1e-6, 10), epoch=st.floats(0.001, 100), size=st.integers(0, 10**9))
def test_copies_take_less_than_half_a_percent_of_the_time(cost: float, epoch: float, size: int) -> None:
    now, spent, begun = 0.0, 0.0, 0.0
    times = CopyTimes(lambda: now)
    for _ in range(100):
        now += epoch
        if times.is_due(lambda: size):
            if not spent:
                begun = now
            now, spent = now + cost, spent + cost
            times.took(cost)
    assert spent <= cost + 0.005 * (now - begun) + 1e-9

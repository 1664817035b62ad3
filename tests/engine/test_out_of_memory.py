"""A device whose memory runs out amid a training: half of the rows at once, from where they were."""

import warnings
from pathlib import Path

import pytest
import torch
from interrupting import assert_same_run

from noiselimit.data.examples import DataSet
from noiselimit.engine.block import Block
from noiselimit.errors import InputError, Notice
from noiselimit.runs.spec import grid
from noiselimit.training import Progress, train


def tight(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """In the third epoch, memory is there for so many rows only."""
    real = Block._evaluate_epoch

    def close_epoch(self: Block, epoch: int, on_epoch: object) -> object:
        if epoch == 3 and len(self.specs) > rows:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(self, epoch, on_epoch)  # type: ignore[arg-type]

    monkeypatch.setattr(Block, "_evaluate_epoch", close_epoch)


@pytest.mark.parametrize("kept", [True, False])
def test_it_goes_on_in_halves(
    blobs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    """One row has ended before: it does not train again."""
    shared = {"batch_size": 16, "network": "linear", "noise": "uniform:0.3"}
    specs = grid(method=["ce", "limit-l"], beta=[1, 3], epochs=5, **shared)
    specs += grid(method="ce", seed=1, epochs=2, **shared)
    undisturbed = train(specs, blobs, device="cpu", threads=1, averaged=True)
    tight(monkeypatch, rows=1)
    first_epochs: list[str] = []

    def hear(news: Progress) -> None:
        if news.record is not None and news.record["epoch"] == 1:
            first_epochs.append(news.spec.hash)

    out = tmp_path if kept else None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", Notice)
        runs = train(
            specs, blobs, out=out, device="cpu", threads=1, averaged=True, checkpoints=0, progress=hear
        )
    assert any("two cohorts" in str(warning.message) for warning in said)
    for one, other in zip(undisturbed, runs, strict=True):
        assert_same_run(one, other)
    times = {first_epochs.count(run.spec.hash) for run in runs[:-1]}
    assert times == {1} if kept else min(times) > 1, "what was kept is not trained again"
    assert first_epochs.count(runs[-1].spec.hash) == 1


def test_a_single_run_that_does_not_fit_gets_a_sentence(
    blobs: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    tight(monkeypatch, rows=0)
    with pytest.raises(InputError, match="does not fit into the device's memory"):
        train(grid(method="ce", epochs=3), blobs, device="cpu", threads=1)

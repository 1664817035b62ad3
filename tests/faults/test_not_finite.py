"""NaN or infinity in a loss, weights or inputs fails the runs that meet it, and no others."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from noiselimit import load_run
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.engine.preparation import split_examples
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RunSpec
from noiselimit.training import Progress, train

SPEC = RunSpec("limit-l", epochs=4, batch_size=16, network="mlp", noise="uniform:0.2")  # type: ignore[arg-type]


def assert_same(first: Run, second: Run) -> None:
    assert list(first.history) == list(second.history)
    assert first.outputs.equals(second.outputs)
    weights = second.weights.classifier
    assert all(torch.equal(tensor, weights[name]) for name, tensor in first.weights.classifier.items())


@pytest.mark.parametrize(("value", "epoch"), [(np.nan, 0), (np.inf, 0), (np.nan, 2), (-np.inf, 2)])
def test_an_input_that_becomes_bad(blobs: DataSet, tmp_path: Path, value: float, epoch: int) -> None:
    """Reading refuses bad inputs; these appear later, in the caller's array."""
    examples = make_examples(np.asarray(blobs.examples.inputs).copy(), blobs.examples.labels)
    data = DataSet("blobs", examples)
    specs = [replace(SPEC, seed=seed, train_size=60) for seed in range(6)]
    untouched = train(specs, data, device="cpu", threads=1)
    splits = [split_examples(len(examples), seed, test_share=0.2, train_size=60) for seed in range(6)]
    train_rows = [set(split.train.tolist()) for split in splits]
    all_rows = [{*split.train, *split.validation, *split.test} for split in splits]
    row = min(set.union(*train_rows) - set.intersection(*all_rows))

    def spoil(news: Progress) -> None:
        if news.record is not None and news.record["epoch"] == epoch:
            examples.inputs[row] = value  # type: ignore[index]

    if epoch == 0:
        examples.inputs[row] = value  # type: ignore[index]
    runs = train(specs, data, out=tmp_path, device="cpu", threads=1, progress=spoil)
    assert [run.failed for run in runs] == [row in rows for rows in all_rows]
    for run, expected, rows in zip(runs, untouched, train_rows, strict=True):
        if not run.failed:
            assert_same(expected, run)
            continue
        assert re.search(r"at step \d+ \(epoch \d\): ", run.metrics["failure"])
        if row in rows:
            assert f"(epoch {epoch + 1})" in run.metrics["failure"]
        assert load_run(run.path or "").metrics == run.metrics


def test_a_loss_that_diverges(blobs: DataSet, tmp_path: Path) -> None:
    wild = RunSpec("ce", epochs=6, batch_size=97, network="mlp-4x512", noise="uniform:0.4", optimiser="sgd")  # type: ignore[arg-type]
    rates = [0.01, 0.02, *(0.5 * 2**number for number in range(14))]
    specs = [replace(wild, learning_rate=rate) for rate in rates]
    together = train(specs, blobs, out=tmp_path, device="cpu", threads=1)
    late = next(run for run in together if run.failed and run.history)
    assert not any(run.failed for run in together[:2])
    for run in (*together[:2], late):
        (alone,) = train(replace(wild, learning_rate=run.spec.learning_rate), blobs, device="cpu", threads=1)
        assert_same(alone, run)
        assert alone.metrics["failure"] == run.metrics["failure"]
    assert "learning rate" in late.metrics["failure"]

"""NaN or infinity in an input fails the runs that meet it, and no others."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from noiselimit import load_run
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.engine.preparation import split_examples
from noiselimit.runs.spec import RunSpec
from noiselimit.training import Progress, train
from tests.engine.interrupting import assert_same_run

SPEC = RunSpec("limit-l", epochs=4, batch_size=16, network="mlp", noise="uniform:0.2")  # type: ignore[arg-type]


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
            assert_same_run(expected, run)
            continue
        assert re.search(r"at step \d+ \(epoch \d\): ", run.metrics["failure"])
        if row in rows:
            assert f"(epoch {epoch + 1})" in run.metrics["failure"]
        assert load_run(run.path or "").metrics == run.metrics

"""NaN or infinity in a loss, weights or inputs fails the runs that meet it, says where, and no other."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from noiselimit import load_run
from noiselimit.cli.main import run as command_line
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.engine.preparation import split_examples
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RunSpec
from noiselimit.training import Progress, train

SPEC = RunSpec("limit-l", epochs=4, batch_size=16, network="mlp", noise="uniform:0.2")  # type: ignore[arg-type]


def assert_same(first: Run, second: Run) -> None:
    """But for how long it took and who trained beside."""
    assert list(first.history) == list(second.history)
    assert first.outputs.equals(second.outputs)
    for one, other in (
        (first.weights.classifier, second.weights.classifier),
        (first.weights.predictor or {}, second.weights.predictor or {}),
    ):
        assert one.keys() == other.keys()
        assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())


@pytest.mark.parametrize(("value", "epoch"), [(np.nan, 0), (np.inf, 0), (np.nan, 2), (-np.inf, 2)])
def test_an_input_that_is_no_number(blobs: DataSet, tmp_path: Path, value: float, epoch: int) -> None:
    """Reading refuses them; these came into being later, in an array that is the caller's."""
    examples = make_examples(np.asarray(blobs.examples.inputs).copy(), blobs.examples.labels)
    data = DataSet("blobs", examples)
    specs = [replace(SPEC, seed=seed, train_size=60) for seed in range(6)]
    untouched = train(specs, data, device="cpu", threads=1)
    parts = [_parts(seed, len(examples)) for seed in range(6)]
    row = next(row for row in range(len(examples)) if {part.get(row) for part in parts} >= {"train", None})

    def spoil(news: Progress | None = None) -> None:
        if news is None or (news.record is not None and news.record["epoch"] == epoch):
            examples.inputs[row] = value  # type: ignore[index]

    if not epoch:
        spoil()
    runs = train(specs, data, out=tmp_path, device="cpu", threads=1, progress=spoil)
    assert [run.failed for run in runs] == [row in each for each in parts]
    for run, part, expected in zip(runs, parts, untouched, strict=True):
        if row not in part:
            assert_same(expected, run)
            continue
        failure = run.metrics["failure"]
        assert re.search(r"was not a finite number at step \d+ \(epoch \d\): ", failure), failure
        assert "hold NaN or an infinite value, so repair them" in failure or part[row] == "validation"
        if part[row] == "train":
            assert f"(epoch {epoch + 1})" in failure
        assert run.path is not None
        assert load_run(run.path).metrics == run.metrics


def _parts(seed: int, examples: int) -> dict[int, str]:
    """Which part of a run each example is in, if any."""
    split = split_examples(examples, seed, validation_share=0.2, test_share=0.2, train_size=60)
    named = {"train": split.train, "validation": split.validation, "test": split.test}
    return {int(row): name for name, rows in named.items() for row in rows}


def test_a_loss_that_leaves_the_numbers_mid_training(blobs: DataSet, tmp_path: Path) -> None:
    wild = RunSpec("ce", epochs=6, batch_size=97, network="mlp-4x512", noise="uniform:0.4", optimiser="sgd")  # type: ignore[arg-type]
    rates = [0.01, 0.02, *(0.5 * 2**number for number in range(14))]
    together = train(
        [replace(wild, learning_rate=rate) for rate in rates], blobs, out=tmp_path, device="cpu", threads=1
    )
    late = [run for run in together if run.failed and run.history]
    assert late, "none failed after its first epoch: the test has lost its subject"
    assert not any(run.failed for run in together[:2])
    for run in (*together[:2], late[0]):
        (alone,) = train(replace(wild, learning_rate=run.spec.learning_rate), blobs, device="cpu", threads=1)
        assert_same(alone, run)
        assert alone.metrics["failure"] == run.metrics["failure"]
    assert re.search(r"at step \d+ \(epoch \d\): lower the learning", late[0].metrics["failure"])


def test_the_exit_code_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["train", "--data", "digits", "--train-size", "60", "--method", "ce", "--network", "mlp"]
    out = ["--epochs", "2", "--optimiser", "sgd", "--out", str(tmp_path / "runs"), "--quiet"]
    assert command_line([*typed, "--learning-rate", "1e30,0.01", *out]) == 1
    assert "failed: " in capsys.readouterr().out
    assert command_line([*typed, "--learning-rate", "0.01", *out]) == 0

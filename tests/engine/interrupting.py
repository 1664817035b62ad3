"""Training that is interrupted and called again."""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from noiselimit.data.examples import DataSet
from noiselimit.errors import Notice
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RunSpec
from noiselimit.training import Progress, train

EVERYTHING = 10**9


class Interrupted(Exception):  # noqa: N818
    """Stands for whatever ends a program."""


def interrupt(after: int) -> Callable[[Progress], None]:
    """A `progress` function that raises once `after` epochs of all runs have been trained."""
    epochs = 0

    def count(news: Progress) -> None:
        nonlocal epochs
        epochs += news.record is not None
        if epochs > after:
            raise Interrupted

    return count


def train_interrupted(
    specs: Sequence[RunSpec], data: DataSet, out: Path, after: int, **how: Any
) -> tuple[list[Run], list[str]]:
    """The runs, none if interrupted, and the warnings."""
    settings = {"device": "cpu", "threads": 1, "checkpoints": 0, **how}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Notice)
        try:
            runs = train(specs, data, out=out, progress=interrupt(after), **settings)
        except Interrupted:
            runs = []
    return runs, [str(warning.message) for warning in caught if issubclass(warning.category, Notice)]


def assert_same_run(first: Run, second: Run) -> None:
    """Bit by bit, except for the time and the company."""
    assert list(first.history) == list(second.history)
    company = {"cohort", "cohort_seconds"}
    one, other = ({k: v for k, v in run.metrics.items() if k not in company} for run in (first, second))
    assert one == other
    if not first.metrics["best_epoch"]:
        return
    assert first.outputs.equals(second.outputs)
    for weights, others in (
        (first.weights.classifier, second.weights.classifier),
        (first.weights.predictor or {}, second.weights.predictor or {}),
    ):
        assert weights.keys() == others.keys()
        assert all(torch.equal(tensor, others[name]) for name, tensor in weights.items())
    assert (first.averaged is None) == (second.averaged is None)
    if first.averaged is not None and second.averaged is not None:
        assert np.array_equal(first.averaged.classifier, second.averaged.classifier)
        if first.averaged.predictor is not None:
            assert np.array_equal(first.averaged.predictor, second.averaged.predictor)

"""Trainings that are broken off and called again."""

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


class Broken(Exception):  # noqa: N818  # no error of ours
    """Stands for whatever ends a program."""


def breaking(after: int) -> Callable[[Progress], None]:
    """A `progress` that breaks off as soon as so many epochs of all runs have been trained."""
    heard = 0

    def hear(news: Progress) -> None:
        nonlocal heard
        heard += news.record is not None
        if heard > after:
            raise Broken

    return hear


class CtrlC:
    """In the third epoch; stands for what tells people of a training."""

    def __enter__(self) -> "CtrlC":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __call__(self, news: Progress) -> None:
        if news.record is not None and news.record["epoch"] == 3:
            raise KeyboardInterrupt


def train_broken(
    specs: Sequence[RunSpec], data: DataSet, out: Path, after: int, **how: Any
) -> tuple[list[Run] | None, list[str]]:
    """The runs, or None where it was broken off, and what was said."""
    settings = {"device": "cpu", "threads": 1, "checkpoints": 0, **how}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", Notice)
        try:
            runs = train(specs, data, out=out, progress=breaking(after), **settings)
        except Broken:
            runs = None
    return runs, [str(warning.message) for warning in said if issubclass(warning.category, Notice)]


def assert_same_run(first: Run, second: Run) -> None:
    """Bit by bit, but for how long it took and who trained beside."""
    assert list(first.history) == list(second.history)
    circumstances = {"cohort", "cohort_seconds"}
    assert {k: v for k, v in first.metrics.items() if k not in circumstances} == {
        k: v for k, v in second.metrics.items() if k not in circumstances
    }
    if not first.metrics["best_epoch"]:
        return
    assert first.outputs.equals(second.outputs)
    for one, other in (
        (first.weights.classifier, second.weights.classifier),
        (first.weights.predictor or {}, second.weights.predictor or {}),
    ):
        assert one.keys() == other.keys()
        assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())
    assert (first.averaged is None) == (second.averaged is None)
    if first.averaged is not None and second.averaged is not None:
        assert np.array_equal(first.averaged.classifier, second.averaged.classifier)
        if first.averaged.predictor is not None:
            assert np.array_equal(first.averaged.predictor, second.averaged.predictor)

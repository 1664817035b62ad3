"""Learning curves of a run in few bytes: accuracy per epoch in ten-thousandths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from noiselimit.reproduce.figures.kept import Kept
from noiselimit.reproduce.rows import ResultRow
from noiselimit.runs import Run

KIND = "curves"
UNIT = 10_000
SMOOTHED = 5
"""Epochs over which a drawn curve is averaged; the paper's are smoothed as well."""


@dataclass(frozen=True)
class Curves:
    """Accuracy after each epoch, as shares."""

    row: ResultRow
    train: tuple[float, ...]
    """On the noisy training labels, while training."""
    test: tuple[float, ...]
    """On clean test labels."""


def keep_curves(row: ResultRow, run: Run) -> Kept:
    """Both curves as text, 'train/test'."""
    return Kept(row, "/".join(_text(run.history, name) for name in ("train_accuracy", "test_accuracy")))


def read_curves(kept: Kept) -> Curves:
    """The inverse, up to rounding."""
    train, test = (tuple(int(value) / UNIT for value in part.split()) for part in kept.values.split("/"))
    return Curves(kept.row, train, test)


def points(curve: Sequence[float], smoothed: int = SMOOTHED) -> list[tuple[float, float]]:
    """(epoch, mean of the epochs around it), for a chart."""
    half = smoothed // 2
    around = [curve[max(0, i - half) : i + half + 1] for i in range(len(curve))]
    return [(epoch, sum(part) / len(part)) for epoch, part in enumerate(around, 1)]


def _text(history: Sequence[Mapping[str, Any]], name: str) -> str:
    return " ".join(str(round(UNIT * (record[name] or 0.0))) for record in history)

"""Learning curves of a run in few bytes: accuracy per epoch in ten-thousandths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from noiselimit.reproduce.figures import values
from noiselimit.reproduce.figures.kept import Kept
from noiselimit.reproduce.rows import ResultRow
from noiselimit.runs import Run

KIND = "curves"
UNIT = values.ACCURACIES
KEPT = ("train", "test", "validation")
SMOOTHED = 5
"""Epochs over which a drawn curve is averaged; the paper's are smoothed as well."""


@dataclass(frozen=True)
class Curves:
    """Accuracy after each epoch, as shares."""

    row: ResultRow
    train: tuple[float, ...]
    """On the noisy training labels, while training; with dropout of the whole network after the epoch."""
    test: tuple[float, ...]
    """On clean test labels."""
    validation: tuple[float, ...] = ()
    """On noisy validation labels; none in files of before these were kept."""

    @property
    def last_validation(self) -> float:
        """What a training without early stopping ends with: the mean over its last epochs."""
        last = self.validation[-SMOOTHED:]
        return sum(last) / len(last)


def keep_curves(row: ResultRow, run: Run) -> Kept:
    """The curves as text, 'train/test/validation'."""
    return Kept(row, "/".join(_text(run.history, f"{name}_accuracy") for name in KEPT))


def read_curves(kept: Kept) -> Curves:
    """The inverse, up to rounding."""
    parts = (tuple(int(value) / UNIT for value in part.split()) for part in kept.values.split("/"))
    return Curves(kept.row, **dict(zip(KEPT, parts, strict=False)))


def points(curve: Sequence[float], smoothed: int = SMOOTHED) -> list[tuple[float, float]]:
    """(epoch, mean of the epochs around it), for a chart."""
    half = smoothed // 2
    around = [curve[max(0, i - half) : i + half + 1] for i in range(len(curve))]
    return [(epoch, sum(part) / len(part)) for epoch, part in enumerate(around, 1)]


def _text(history: Sequence[Mapping[str, Any]], name: str) -> str:
    return " ".join(str(round(UNIT * (record[name] or 0.0))) for record in history)

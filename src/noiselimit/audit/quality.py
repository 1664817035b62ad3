"""What class probabilities say about each label, in chunks: nothing of [n, C] is ever copied as a whole."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Probabilities = npt.NDArray[np.floating[Any]]

CHUNK = 2**21  # probabilities at a time: 16 MiB in float64
MAX_GAP = 2**0.5  # the largest gap: all probability on one other class
NO_THRESHOLD = math.nextafter(MAX_GAP, 2.0)
"""A threshold that no gap reaches."""


@dataclass(frozen=True, eq=False)
class RowSubset:
    """Some rows of a large array, taken out piece by piece."""

    all: Probabilities
    rows: npt.NDArray[np.intp]

    @property
    def shape(self) -> tuple[int, int]:
        """[rows selected, C]"""
        return len(self.rows), self.all.shape[1]

    def __getitem__(self, piece: slice) -> Probabilities:
        return self.all[self.rows[piece]]


Rows = Probabilities | RowSubset


@dataclass(frozen=True, eq=False)
class Quality:
    """Per example, [n] each, in data order."""

    given: Labels
    predicted: Labels
    """The likeliest class; the given one where it is as likely as any."""
    probability: Floats
    """Of the predicted class."""
    gap: Floats
    """‖onehot(given) − probabilities‖, in [0, √2]."""
    doubt: Floats
    """Probability of the likeliest other class less that of the given one, in [−1, 1]; > 0: they disagree."""
    lead: Floats
    """Probability of the likeliest class less that of the second, in [0, 1], whatever the given label is."""
    self_confidence: Floats
    """Probability of the given class."""

    def __len__(self) -> int:
        return len(self.given)

    @property
    def label_quality(self) -> Floats:
        """1 − gap/√2, in [0, 1]; lower is worse, as in cleanlab."""
        return np.asarray(1.0 - self.gap / MAX_GAP)

    @property
    def disagrees(self) -> Flags:
        """Whether another class is likelier than the given one."""
        return np.asarray(self.doubt > 0)


def chunks(rows: int, classes: int) -> Iterator[slice]:
    """Consecutive rows, as many at a time as CHUNK allows."""
    step = max(1, CHUNK // max(classes, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def measure(probabilities: Rows, given: Labels) -> Quality:
    """From probabilities [n, C ≥ 2] and labels [n] below C."""
    rows, classes = probabilities.shape
    predicted = np.empty(rows, np.int64)
    probability, gap, doubt, lead, own = (np.empty(rows) for _ in range(5))
    for piece in chunks(rows, classes):
        found = _measure_piece(np.array(probabilities[piece], np.float64), given[piece])
        predicted[piece], probability[piece], gap[piece], doubt[piece], lead[piece], own[piece] = found
    return Quality(given, predicted, probability, gap, doubt, lead, own)


def _measure_piece(s: Floats, given: Labels) -> tuple[Labels, Floats, Floats, Floats, Floats, Floats]:
    """The fields of `Quality` after the first; overwrites `s` [rows, C]."""
    every = np.arange(len(given))
    own = s[every, given]
    s[every, given] = 1.0 - own
    # (1 − s_y)² + Σ_{j≠y} s_j², not 1 − 2 s_y + ‖s‖²: this stays exact near zero.
    gap = np.minimum(np.sqrt(np.einsum("ij,ij->i", s, s)), MAX_GAP)
    s[every, given] = -1.0
    rival = s.argmax(1)
    best = s[every, rival]
    doubt = best - own
    s[every, rival] = -1.0
    third = s.max(1)  # the best but for the given class and its rival; −1 when there are only two classes
    predicted = np.where(doubt > 0, rival, given)
    lead = np.where(doubt > 0, best - np.maximum(own, third), own - best)
    return predicted, np.maximum(best, own), gap, doubt, lead, own


def worst_first(gap: Floats) -> Labels:
    """Rows [n] from the largest gap to the smallest; equal ones in data order."""
    return np.argsort(-gap, kind="stable").astype(np.int64)


def rank_in_class(gap: Floats, given: Labels) -> Labels:
    """[n]: 1 for the largest gap among the examples of the same given class, 2 for the next, and so on."""
    order = np.lexsort((-gap, given))  # stable: equal ones in data order
    starts = np.searchsorted(given[order], given[order], side="left")
    ranks = np.empty(len(given), np.int64)
    ranks[order] = np.arange(len(given)) - starts + 1
    return ranks

"""Per-example label quality from class probabilities.

Large arrays [n, C] are processed in chunks of rows, so a memory-mapped array is never copied as a whole.
"""

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

CHUNK = 2**21  # values per chunk: 16 MiB in float64
MAX_GAP = 2**0.5  # all probability on one other class
NO_THRESHOLD = math.nextafter(MAX_GAP, 2.0)
"""A threshold above every possible gap: nothing is flagged."""


@dataclass(frozen=True, eq=False)
class Quality:
    """Measures of each label; every field is an array [n] in data order."""

    given: Labels
    predicted: Labels
    """The most probable class; the given class wins ties."""
    probability: Floats
    """Probability of the predicted class."""
    gap: Floats
    """‖onehot(given) − probabilities‖, in [0, √2]."""
    doubt: Floats
    """Highest probability of another class minus that of the given class; positive if the prediction
    disagrees with the label."""
    lead: Floats
    """Highest minus second-highest probability, whatever the given label is."""
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
        """Whether another class is more probable than the given one."""
        return np.asarray(self.doubt > 0)


def chunks(rows: int, classes: int) -> Iterator[slice]:
    """Slices of consecutive rows that hold at most CHUNK values each."""
    step = max(1, CHUNK // max(classes, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def measure(probabilities: Probabilities, given: Labels) -> Quality:
    """Measure labels [n] against probabilities [n, C], C ≥ 2."""
    rows, classes = probabilities.shape
    predicted = np.empty(rows, np.int64)
    probability, gap, doubt, lead, own = (np.empty(rows) for _ in range(5))
    for part in chunks(rows, classes):
        found = _measure_chunk(np.array(probabilities[part], np.float64), given[part])
        predicted[part], probability[part], gap[part], doubt[part], lead[part], own[part] = found
    return Quality(given, predicted, probability, gap, doubt, lead, own)


def _measure_chunk(s: Floats, given: Labels) -> tuple[Labels, Floats, Floats, Floats, Floats, Floats]:
    """The fields of `Quality` after `given`; overwrites `s` [rows, C]."""
    every = np.arange(len(given))
    own = s[every, given]
    s[every, given] = 1.0 - own
    # (1 − s_y)² + Σ_{j≠y} s_j² stays exact near zero; 1 − 2 s_y + ‖s‖² does not.
    gap = np.minimum(np.sqrt(np.einsum("ij,ij->i", s, s)), MAX_GAP)
    s[every, given] = -1.0
    rival = s.argmax(1)
    best = s[every, rival]
    doubt = best - own
    s[every, rival] = -1.0
    third = s.max(1)  # best of the remaining classes; −1 if there are only two classes
    predicted = np.where(doubt > 0, rival, given)
    lead = np.where(doubt > 0, best - np.maximum(own, third), own - best)
    return predicted, np.maximum(best, own), gap, doubt, lead, own

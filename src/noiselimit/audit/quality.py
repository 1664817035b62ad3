"""Measures of each label, from a label model.

Large arrays [n, C] are processed in chunks of rows, so a memory-mapped array is never copied as a whole. What
is kept of each row counts where there are many: whole arrays [n] are written once and not copied.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from noiselimit.audit.label_model import LabelModel

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Probabilities = npt.NDArray[np.floating[Any]]

CHUNK = 2**21  # values per chunk: 16 MiB in float64
MAX_GAP = 2**0.5  # all probability on one other class


@dataclass(frozen=True, eq=False)
class Quality:
    """Measures of each label [n], and counts by class."""

    given: Labels
    predicted: Labels
    """The most probable class; the given class wins ties."""
    probability: Floats
    """Probability of the predicted class."""
    gap: Floats
    """‖onehot(given) − probabilities‖, in [0, √2]."""
    label_quality: Floats
    """Probability that the label is right. Closer to 0 than one minus the probability that it is wrong."""
    against: npt.NDArray[np.int8]
    """Number of judges that find another class more probable."""
    joint: Floats
    """[C given, C true]: expected number of labels."""
    overlap: Floats
    """[C, C]: expected number of examples of the one class that look more like the other."""

    def __len__(self) -> int:
        return len(self.given)

    @property
    def error_probability(self) -> Floats:
        """Probability that the label is wrong."""
        return np.asarray(1.0 - self.label_quality)

    @property
    def disagrees(self) -> Flags:
        """Whether another class is more probable than the given one."""
        return np.asarray(self.predicted != self.given)


def chunks(rows: int, classes: int) -> Iterator[slice]:
    """Slices of consecutive rows that hold at most CHUNK values each."""
    step = max(1, CHUNK // max(classes, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def measure(model: "LabelModel", labels: Labels) -> Quality:
    """Measure the labels [n] of the model's examples; rows whose label is −1 are left out."""
    rows, classes = model.shape
    joint, overlap = np.zeros((2, classes, classes))
    known = labels >= 0
    every = labels if known.all() else labels[known]
    predicted, against = np.empty(len(every), np.int64), np.zeros(len(every), np.int8)
    probability, gap, quality = (np.empty(len(every)) for _ in range(3))
    end = 0
    for part in chunks(rows, classes):
        start, end = end, end + int(np.count_nonzero(known[part]))
        own = slice(start, end)
        given, true_classes = every[own], model.true_classes(part)[known[part]]
        posterior = model.posterior(true_classes, given)
        np.add.at(joint, given, posterior)
        first, second, least = _two_most_probable(true_classes)
        np.add.at(overlap, (first, second), least)
        for judge in model.judges:
            against[own] += judge[part][known[part]].argmax(1) != given
        quality[own] = posterior[np.arange(len(given)), given]
        predicted[own], probability[own], gap[own] = _measure_chunk(true_classes, given)
    return Quality(every, predicted, probability, gap, quality, against, joint, overlap + overlap.T)


def _two_most_probable(probabilities: Floats) -> tuple[Labels, Labels, Floats]:
    """The two most probable classes [n] each, and the probability of the second."""
    every = np.arange(len(probabilities))
    second, first = np.argpartition(probabilities, -2, axis=1)[:, -2:].T
    return first, second, probabilities[every, second]


def _measure_chunk(s: Floats, given: Labels) -> tuple[Labels, Floats, Floats]:
    """The fields `predicted`, `probability` and `gap`; overwrites the probabilities `s` [rows, C]."""
    every = np.arange(len(given))
    own = s[every, given]
    s[every, given] = 1.0 - own
    # (1 − s_y)² + Σ_{j≠y} s_j² stays exact near zero; 1 − 2 s_y + ‖s‖² does not.
    gap = np.minimum(np.sqrt(np.einsum("ij,ij->i", s, s)), MAX_GAP)
    s[every, given] = -1.0
    rival = s.argmax(1)
    best = s[every, rival]
    return np.where(best > own, rival, given), np.maximum(best, own), gap

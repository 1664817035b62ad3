"""Set examples apart that validate, where classes may have few: each keeps one to train on."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.errors import InputError, number
from noiselimit.randomness import Stream, permutation

FEWEST_VALIDATING = 10
"""Where fewer examples could be set apart, they say too little: the training examples validate then."""
COPIES, MOST_COPIED = 4, 10_000
"""Of a validating example of average weight, where weights differ: so finely are these told apart. Many
examples need no such care, and copies of them would need memory."""

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What is left to train on, and what validates it."""

    data: DataSet
    trained: Indices
    """Rows of the inputs that are the data's examples, in their order."""
    validated: Indices
    """Rows that were set apart, a random sample as those are; none where there are too few."""


def hold_out(
    inputs: npt.NDArray[np.generic],
    labels: npt.NDArray[np.int64],
    classes: int,
    weights: npt.NDArray[np.float64] | None,
    share: float,
    seed: int,
) -> HeldOut:
    """Examples and the part that validates them; every class keeps an example to train on.

    Inputs [n, ...], labels [n] below `classes`, weights [n] ≥ 0. Those of weight 0 are left out,
    and others validate as often as their weight says.
    """
    share = number("validation_share", share, at_least=0.0, below=1.0)
    used = np.arange(len(labels)) if weights is None else np.flatnonzero(weights > 0)
    if len(np.unique(labels[used])) < 2:
        whose = "" if weights is None else " with a weight above 0"
        raise InputError(f"y has only one class{whose}: give examples of at least two.")
    chosen = used[_validating(labels[used], share, seed)]
    trained = np.setdiff1d(used, chosen)
    names = [str(number) for number in range(classes)]

    def part(rows: Indices, counted: npt.NDArray[np.float64] | None = None) -> Examples:
        scaled = None if counted is None else counted[rows] / counted[rows].max()  # float32 holds these
        return make_examples(
            inputs[rows], labels[rows], class_names=names, weights=scaled, source="X", may_lack_classes=True
        )

    validating = chosen if len(chosen) else trained
    if weights is not None:
        validating = _as_often_as_weighed(validating, weights[validating])
    return HeldOut(DataSet("X", part(trained, weights), validation=part(validating)), trained, chosen)


def _as_often_as_weighed(rows: Indices, weights: npt.NDArray[np.float64]) -> Indices:
    """The rows, each about as often as its weight says: validation itself counts all examples alike."""
    if (weights == weights[0]).all():
        return rows
    ends = np.cumsum(weights / weights.max())
    count = max(len(rows), min(COPIES * len(rows), MOST_COPIED))
    places = (np.arange(count) + 0.5) / count * ends[-1]
    return np.asarray(rows[np.searchsorted(ends, places)], np.int64)


def _validating(labels: npt.NDArray[np.int64], share: float, seed: int) -> Indices:
    """Rows to validate on: a share of all, spread evenly over the classes, but not the last one of any."""
    count = round(len(labels) * share)
    order = permutation(seed, Stream.SPLIT, 0, len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    first = np.diff(labels[by_class], prepend=-1) != 0
    free = by_class[~first]
    count = min(count, len(free))
    if count < FEWEST_VALIDATING:
        count = 0
    places = (np.arange(count) + 0.5) * len(free) / max(count, 1)
    return np.asarray(free[places.astype(np.int64)], np.int64)

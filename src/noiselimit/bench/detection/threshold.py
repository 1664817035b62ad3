"""AUM's own threshold (Pleiss et al., 2020): examples that get a class of their own are mislabelled for sure.

A share 1/(C + 1) of the examples gets it, and whatever has no larger area under the margin than 99 % of these
is taken for mislabelled. A second training with other such examples judges those of the first.
"""

import dataclasses

import numpy as np

from noiselimit.bench.detection.scores import Flags, area_under_margin
from noiselimit.data.examples import DataSet
from noiselimit.data.labels import Labels
from noiselimit.randomness import Stream, permutation

PERCENTILE = 99
EXTRA = "of no class"


def threshold_sets(count: int, classes: int, seed: int) -> Flags:
    """[2, n]: two disjoint sets of 1/(C + 1) of the examples each."""
    size = max(1, count // (classes + 1))
    order = permutation(seed, Stream.SPLIT, 3, count)
    sets = np.zeros((2, count), np.bool_)
    sets[0, order[:size]] = sets[1, order[size : 2 * size]] = True
    return sets


def add_class(data: DataSet, sets: Flags) -> tuple[DataSet, list[Labels]]:
    """Data with one class more, and the labels of each run: its set has that class."""
    examples = data.examples
    more = dataclasses.replace(examples, class_names=(*examples.class_names, EXTRA))
    labels = [np.where(chosen, examples.classes, examples.labels).astype(np.int64) for chosen in sets]
    return dataclasses.replace(data, examples=more), labels


def below_threshold(
    margins: np.ndarray[tuple[int, ...], np.dtype[np.float32]], sets: Flags, epochs: int | None = None
) -> Flags:
    """[n] what is taken for mislabelled, by margins [2, E, n] of the first so many epochs, or of all."""
    found = []
    for own, chosen in zip(margins, sets, strict=True):
        area = -area_under_margin(own, epochs)
        found.append(area <= np.percentile(area[chosen], PERCENTILE))
    return np.asarray(np.where(sets[0], found[1], found[0]))

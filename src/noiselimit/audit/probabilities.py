"""What runs say of examples: the mean of classifier and predictor, averaged over epochs in training."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import bdtrc

from noiselimit.audit.quality import chunks
from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.errors import InputError, number
from noiselimit.inference import mean_probabilities
from noiselimit.randomness import Stream, permutation
from noiselimit.runs.result import read_averaged
from noiselimit.runs.run import Averaged, Run

FEWEST_VALIDATING = 10
"""Where fewer examples could be set apart, they say too little: the training examples validate then."""
COPIES, MOST_COPIED = 4, 10_000
"""Of a validating example of average weight, where weights differ: so finely are these told apart. Many
examples need no such care, and copies of them would need memory."""

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HoldOut:
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
) -> HoldOut:
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
    return HoldOut(DataSet("X", part(trained, weights), validation=part(validating)), trained, chosen)


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


Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]
Probabilities = npt.NDArray[np.float32]

LIKELY = 0.01
"""Probability of a difference as large as the one seen, if nothing was memorised, below which it was."""
TRUSTED = 0.01
"""Probability that is not on the given label, below which nobody doubts it: differences there say nothing."""
FEWEST = 100
"""Examples held out; of fewer, only a handful have a wrong label, and quantiles say little of those."""


def calibrate(off_label: Floats, seen: Rows, held_out: Rows) -> Floats:
    """[n]: the probability that is not on the given label, as it would be if nobody had seen the labels.

    `off_label` [n] is what is said. Rows `seen` of it keep their order, and their values too unless they were
    memorised, to fit by the rows `held_out`; all other rows stay as they are.
    """
    memorised = is_memorised(off_label[seen], off_label[held_out])
    return match_quantiles(off_label, seen, held_out) if memorised else off_label


def is_memorised(seen: Floats, held_out: Floats) -> bool:
    """Whether labels that were seen are doubted less than those held out, or contradicted more seldom, by
    what is said of both in the same way. Chance alone says so in one case of a hundred."""
    if len(held_out) < FEWEST or not len(seen):
        return False
    trained, apart = np.sort(seen), np.sort(held_out)
    both = np.concatenate([trained, apart])
    both = both[both >= TRUSTED]
    farthest = (_up_to(both, trained) - _up_to(both, apart)).max(initial=0.0)  # Smirnov's test, one-sided
    surer = math.exp(-2 * farthest**2 / (1 / len(trained) + 1 / len(apart)))
    contradicted = [len(part) - np.searchsorted(part, 0.5, "right") for part in (trained, apart)]
    # If nothing was, a contradicted label is as likely held out as any other. Few of them say more than a
    # share of all examples does: none of the seen, ten of the others.
    seldom = bdtrc(contradicted[1] - 1, sum(contradicted), len(apart) / (len(trained) + len(apart)))
    return bool(min(surer, seldom) < LIKELY / 2)


def match_quantiles(off_label: Floats, seen: Rows, held_out: Rows) -> Floats:
    """[n]: the same with the quantiles of the rows `held_out` for the rows `seen`, in their order."""
    trained, apart = np.sort(off_label[seen]), np.sort(off_label[held_out])
    scaled = off_label.copy()
    # The ends are those of all probabilities: what is beyond the last example held out keeps its order too.
    places, values = [0.0, *_place(apart, apart), 1.0], [0.0, *apart, 1.0]
    scaled[seen] = np.interp(_place(off_label[seen], trained), places, values)
    return scaled


def off_label_mass(said: Probabilities, given: Labels) -> Floats:
    """[n]: how much of the probabilities [n, C] is not on the given class [n]."""
    # Not the rest of 1 or of all: rounding would leave little of what is nearly nothing.
    others = said.copy()
    others[np.arange(len(given)), given] = 0.0
    return np.asarray(np.minimum(others.sum(1, dtype=np.float64), 1.0))


def with_off_label_mass(said: Probabilities, given: Labels, off_label: Floats) -> Probabilities:
    """Probabilities [n, C] of which `off_label` [n] is not on the given class [n], but shared out among the
    other classes as before; where these have nothing, it stays so."""
    every, before = np.arange(len(given)), off_label_mass(said, given)
    some = before > 0
    factor = np.divide(off_label, before, out=np.zeros_like(before), where=some)
    result = said * factor[:, np.newaxis].astype(np.float32)
    result[every, given] = np.where(some, 1.0 - off_label, 1.0)
    same = off_label == before  # else rounding would move a little
    result[same] = said[same]
    return np.asarray(result, np.float32)


def _up_to(values: Floats, sample: Floats) -> Floats:
    """Share of the sorted sample up to each of the values."""
    return np.asarray(np.searchsorted(sample, values, "right") / len(sample))


def _place(values: Floats, sample: Floats) -> Floats:
    """Share of the sorted sample below each of the values, which are in it; half of those like it count."""
    left, right = (np.searchsorted(sample, values, side) for side in ("left", "right"))
    return np.asarray((left + right) / (2 * len(sample)))


@dataclass(frozen=True, eq=False)
class MeanPredictions:
    """What runs say together."""

    probabilities: Probabilities
    """[n, C]"""
    known_from: int
    """Examples that say how many labels are wrong: all, or where others were brought to the scale of those
    held out, only these."""
    unscaled: Probabilities | None = None
    """[n, C] as if nothing had been brought to that scale, where somebody wants to compare."""


def average_runs(
    runs: Sequence[Run], labels: Labels, held_out: Sequence[Labels], *, unscaled: bool = False
) -> MeanPredictions:
    """The mean over runs that trained or validated on all examples with these labels [n].

    `held_out` has the rows that each run did not train on: what it says of the others is brought to their
    scale. In chunks: nothing as large is made beside it, but what is `unscaled` if that is asked for.
    """
    classes = len(runs[0].data.class_names)
    mean = np.zeros((len(labels), classes), np.float32)
    plain = np.zeros_like(mean) if unscaled else None
    scales: list[Labels] = []
    for run, apart in zip(runs, held_out, strict=True):
        averaged = load_averages(run)
        assert averaged is not None
        off_label = np.empty(len(labels))
        for piece in chunks(len(labels), classes):
            off_label[piece] = off_label_mass(mean_of_networks(averaged, piece), labels[piece])
        seen = np.setdiff1d(np.arange(len(labels)), apart)
        scaled = calibrate(off_label, seen, apart)
        scales += [] if scaled is off_label else [apart]
        for piece in chunks(len(labels), classes):
            said = mean_of_networks(averaged, piece)
            if plain is not None:
                plain[piece] += said / len(runs)
            if scaled is not off_label:
                said = with_off_label_mass(said, labels[piece], scaled[piece])
            mean[piece] += said / len(runs)
    known_from = len(np.unique(np.concatenate(scales))) if scales else len(labels)
    return MeanPredictions(mean, known_from, plain)


def predict_all(
    runs: Sequence[Run], inputs: npt.NDArray[np.generic], labels: Labels, held: HoldOut, device: torch.device
) -> MeanPredictions:
    """Of inputs [n, …] with these labels, by runs that trained on some of them. What they say of the others
    comes from their weights, and what they say of those is brought to its scale if these were memorised. That
    is fitted by what the weights say of both: averages over other epochs are surer, or less sure, anyway."""
    said = np.asarray(mean_probabilities(runs, inputs, device), np.float32)
    by_weights = off_label_mass(said, labels)
    said[held.trained] = average_runs(
        runs, labels[held.trained], [held.trained[:0]] * len(runs)
    ).probabilities
    if not is_memorised(by_weights[held.trained], by_weights[held.validated]):
        return MeanPredictions(said, len(labels))
    scaled = match_quantiles(off_label_mass(said, labels), held.trained, held.validated)
    return MeanPredictions(with_off_label_mass(said, labels, scaled), len(held.validated))


def load_averages(run: Run) -> Averaged | None:
    """What the run averaged, read from its folder without the run's keeping it; None if it failed."""
    if run.failed:
        return None
    if run.in_memory is not None:
        return run.in_memory.averaged
    return None if run.path is None else read_averaged(run.place)


def drop_averages(run: Run) -> Run:
    """The run with less to hold: of many examples and classes, averages are by far the largest part of it."""
    if run.in_memory is None:
        return run
    return dataclasses.replace(run, in_memory=dataclasses.replace(run.in_memory, averaged=None))


def mean_of_networks(averaged: Averaged, rows: slice | Labels) -> Probabilities:
    """[rows, C]: both networks' mean, which finds wrong labels better than either alone."""
    if averaged.predictor is None:
        return averaged.classifier[rows]
    return np.asarray((averaged.classifier[rows] + averaged.predictor[rows]) / 2, np.float32)

"""What networks say of examples that they trained on, brought to the scale of what they say of others.

A network is surer of labels that it has seen, right or wrong, so that among few examples wrong labels that it
saw look better than right ones that it did not. Which examples are held out is random, so that
without training both parts would look alike; where they do not, the part that was seen is given the
quantiles of the other one.
"""

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]
Probabilities = npt.NDArray[np.float32]

LIKELY = 0.01
"""Probability of a difference as large as the one seen, if there is none, below which there is one."""
FEWEST = 100
"""Examples held out; of fewer, only a handful have a wrong label, and quantiles say little of those."""


def as_if_held_out(elsewhere: Floats, seen: Rows, held_out: Rows) -> Floats:
    """[n]: the probability that is not on the given label, as it would be if nobody had seen the labels.

    `elsewhere` [n] is what is said. Rows `seen` of it keep their order, and their values too if these look
    like those of the rows `held_out`; all other rows stay as they are.
    """
    if len(held_out) < FEWEST or not len(seen):
        return elsewhere
    trained, apart = np.sort(elsewhere[seen]), np.sort(elsewhere[held_out])
    if not _differ(trained, apart):
        return elsewhere
    scaled = elsewhere.copy()
    scaled[seen] = np.interp(_place(elsewhere[seen], trained), _place(apart, apart), apart)
    return scaled


def elsewhere_of(said: Probabilities, given: Labels) -> Floats:
    """[n]: how much of the probabilities [n, C] is not on the given class [n]."""
    # Not the rest of 1 or of all: rounding would leave little of what is nearly nothing.
    others = said.copy()
    others[np.arange(len(given)), given] = 0.0
    return np.asarray(np.minimum(others.sum(1, dtype=np.float64), 1.0))


def moved(said: Probabilities, given: Labels, elsewhere: Floats) -> Probabilities:
    """Probabilities [n, C] of which `elsewhere` [n] is not on the given class [n], but shared out among the
    other classes as before; where these have nothing, it stays so."""
    every, before = np.arange(len(given)), elsewhere_of(said, given)
    some = before > 0
    factor = np.divide(elsewhere, before, out=np.zeros_like(before), where=some)
    result = said * factor[:, np.newaxis].astype(np.float32)
    result[every, given] = np.where(some, 1.0 - elsewhere, 1.0)
    same = elsewhere == before  # else rounding would move a little
    result[same] = said[same]
    return np.asarray(result, np.float32)


def _differ(first: Floats, second: Floats) -> bool:
    """Whether two sorted samples come from different distributions (Kolmogorov and Smirnov's test)."""
    both = np.concatenate([first, second])
    farthest = np.abs(_below(both, first) - _below(both, second)).max()
    return bool(farthest > math.sqrt(-math.log(LIKELY / 2) / 2 * (1 / len(first) + 1 / len(second))))


def _below(values: Floats, sample: Floats) -> Floats:
    """Share of the sorted sample up to each of the values."""
    return np.asarray(np.searchsorted(sample, values, "right") / len(sample))


def _place(values: Floats, sample: Floats) -> Floats:
    """Share of the sorted sample below each of the values, which are in it; half of those like it count."""
    left, right = (np.searchsorted(sample, values, side) for side in ("left", "right"))
    return np.asarray((left + right) / (2 * len(sample)))

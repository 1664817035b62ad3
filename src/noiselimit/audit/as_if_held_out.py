"""What networks say of examples that they trained on, brought to the scale of what they say of others.

A network that memorises doubts labels less that it has seen, so that among few examples wrong labels that it
saw look better than right ones that it did not. Which examples are held out is random: if nothing was
memorised, both parts are doubted alike. Where labels that were seen are doubted less than chance explains,
they are given the quantiles of the others. Where they are doubted more that is no matter of memory (what is
said of them is said while training, for one), and the quantiles of fewer examples would only be less exact.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc

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


def as_if_held_out(elsewhere: Floats, seen: Rows, held_out: Rows) -> Floats:
    """[n]: the probability that is not on the given label, as it would be if nobody had seen the labels.

    `elsewhere` [n] is what is said. Rows `seen` of it keep their order, and their values too unless they were
    memorised, to judge by the rows `held_out`; all other rows stay as they are.
    """
    memorised = is_memorised(elsewhere[seen], elsewhere[held_out])
    return spread_alike(elsewhere, seen, held_out) if memorised else elsewhere


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


def spread_alike(elsewhere: Floats, seen: Rows, held_out: Rows) -> Floats:
    """[n]: the same with the quantiles of the rows `held_out` for the rows `seen`, in their order."""
    trained, apart = np.sort(elsewhere[seen]), np.sort(elsewhere[held_out])
    scaled = elsewhere.copy()
    # The ends are those of all probabilities: what is beyond the last example held out keeps its order too.
    places, values = [0.0, *_place(apart, apart), 1.0], [0.0, *apart, 1.0]
    scaled[seen] = np.interp(_place(elsewhere[seen], trained), places, values)
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


def _up_to(values: Floats, sample: Floats) -> Floats:
    """Share of the sorted sample up to each of the values."""
    return np.asarray(np.searchsorted(sample, values, "right") / len(sample))


def _place(values: Floats, sample: Floats) -> Floats:
    """Share of the sorted sample below each of the values, which are in it; half of those like it count."""
    left, right = (np.searchsorted(sample, values, side) for side in ("left", "right"))
    return np.asarray((left + right) / (2 * len(sample)))

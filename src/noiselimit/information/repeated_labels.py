"""H(y|x) from several labels per example, such as rand1, rand2 and rand3 of CIFAR-10N.

All that is assumed: the r labels of an example are independent draws from one p(y|x). Neither clean labels
nor a model is needed. What is found lies between two estimates whose directions are known; labels that
agree because people copied each other or share a mistake look like less noise than there is.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.errors import InputError
from noiselimit.information.entropy import entropy_nats
from noiselimit.information.units import Unit, from_nats

Labels = npt.NDArray[np.int64]


def entropy_of_repeated_labels(labels: Any, *, unit: Unit = "bits") -> float:
    """An estimate of H(y|x) from labels [n, r] that is too low on average, never too high.

    With c_y of the r labels of an example being y, it is the mean over examples of
    Σ_y (c_y/r) (1/c_y + 1/(c_y + 1) + … + 1/(r − 1)) nats (Zhang 2012). In
    H = Σ_{m≥1} Σ_y p_y (1 − p_y)^m / m it estimates the terms m < r without bias and leaves out the others,
    so its bias is −Σ_{m≥r} Σ_y p_y (1 − p_y)^m / m averaged over examples: 0 where labels are certain, and
    less the more labels there are. With r = 2 it is the share of pairs that disagree, in nats. Too low is the
    safe side for `least_information`, which rises with the entropy.
    """
    counts = _counts(_checked(labels))
    repeats = counts[0].sum()
    steps = 1 / np.arange(1, repeats)  # 1, 1/2, …, 1/(r − 1)
    missing = np.append(0, np.append(np.cumsum(steps[::-1])[::-1], 0))  # Σ_{j=c}^{r−1} 1/j for c = 0 … r
    return float(from_nats((counts / repeats * missing[counts]).sum(axis=1).mean(), unit))


def entropy_given_another_label(labels: Any, *, unit: Unit = "bits") -> float:
    """H(y|y'), which is at least H(y|x), from all ordered pairs of labels in [n, r].

    An example's other label y' tells of y only what the input tells, hence the direction (data processing).
    The plug-in estimate is itself too low by about (k² − k)/(2n) nats for k classes, little where n is large.
    """
    counts = _counts(_checked(labels))
    pairs = (counts.T @ counts - np.diag(counts.sum(axis=0))).astype(np.float64)  # [k, k]
    joint = pairs / pairs.sum()
    return float(from_nats(entropy_nats(joint.ravel()) - entropy_nats(joint.sum(axis=0)), unit))


def _counts(labels: Labels) -> Labels:
    """[n, k]: how often each example got each of the labels that occur."""
    kinds, numbered = np.unique(labels, return_inverse=True)
    numbered = numbered.reshape(labels.shape)
    counts = np.zeros((len(labels), len(kinds)), np.int64)
    for column in numbered.T:
        counts[np.arange(len(labels)), column] += 1
    return counts


def _checked(labels: Any) -> Labels:
    found = np.asarray(labels)
    if found.ndim != 2 or found.shape[0] < 1 or found.shape[1] < 2:
        raise InputError(
            f"labels is of shape {list(found.shape)}: give [n, r], r ≥ 2 labels for each of n examples."
        )
    if not np.issubdtype(found.dtype, np.integer) or found.min() < 0:
        raise InputError(
            "labels is not an array of whole numbers ≥ 0: give the number of a class in each place."
        )
    return found.astype(np.int64)

"""Theorem 2.1: errors on noisy training labels against the information that the weights hold about them.

For n i.i.d. examples of k classes, any training algorithm and any classifier, also a randomised one, the
expected rate r of training errors obeys (eq. fano_r, without a division, so that k = 2 is no exception)

    r log(k − 1) + H(r) ≥ H(y|x) − I(w;Y|X)/n.

All of it is in expectation over data and trainings; what one run shows is an indication.
"""

from typing import Any

import numpy as np

from noiselimit.errors import InputError
from noiselimit.information.checks import Array, Numbers, broadcast, numbers, plain, whole_numbers
from noiselimit.information.entropy import binary_nats
from noiselimit.information.units import Unit, from_nats, to_nats

HALVINGS = 64  # to 5e-20 of the interval: even where H(r) is steepest less than 1e-16 nats remain
ROUNDING = 1e-9  # by how much, relatively, an entropy may exceed log k


def least_error(noise_entropy: Any, information: Any, classes: Any, *, unit: Unit = "bits") -> Numbers:
    """The smallest expected training error r₀ that Theorem 2.1 allows.

    noise_entropy: H(y|x); information: I(w;Y|X)/n, per example; classes: k.
    Tight for uniform noise of p < (k − 1)/k without information, where r₀ = p (Remark 3); for k = 2 it solves
    H(r) = H(y|x) − I (Remark 2). Loose for other noise. Vacuous, r₀ = 0, where I ≥ H(y|x).
    """
    entropy, labels = _entropy_and_classes(noise_entropy, classes, unit)
    known = to_nats(numbers("information", information), unit)
    entropy, known, labels = broadcast(noise_entropy=entropy, information=known, classes=labels)
    left = np.maximum(entropy - known, 0)
    # The left side of the inequality rises up to r = (k − 1)/k, where it is log k.
    low, high = np.zeros_like(left), (labels - 1) / labels
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        too_small = _most_uncertainty(middle, labels) < left
        low, high = np.where(too_small, middle, low), np.where(too_small, high, middle)
    return plain(low)  # the lower end, so that rounding never claims an error that need not be


def least_information(noise_entropy: Any, error: Any, classes: Any, *, unit: Unit = "bits") -> Numbers:
    """The least information per label that an expected training error implies: Theorem 2.1 read backwards.

    max(0, H(y|x) − r log(k − 1) − H(r)) ≤ I(w;Y|X)/n, with noise_entropy H(y|x), error r and classes k.
    The error is that on the given, noisy labels. Vacuous, 0, where the error is what predicting without
    memory allows; an error near 1 implies information too, because somebody who is always wrong knows what
    to avoid.
    """
    entropy, labels = _entropy_and_classes(noise_entropy, classes, unit)
    rate = numbers("error", error, at_most=1)
    entropy, rate, labels = broadcast(noise_entropy=entropy, error=rate, classes=labels)
    return plain(from_nats(np.maximum(entropy - _most_uncertainty(rate, labels), 0), unit))


def _most_uncertainty(rate: Array, classes: Array) -> Array:
    """r log(k − 1) + H(r) in nats: the most that may be unknown of a label guessed with this error rate."""
    return rate * np.log(classes - 1) + binary_nats(rate)


def _entropy_and_classes(noise_entropy: Any, classes: Any, unit: Unit) -> tuple[Array, Array]:
    """Both checked, the entropy in nats and at most log k."""
    given = numbers("noise_entropy", noise_entropy)
    labels = whole_numbers("classes", classes, at_least=2)
    given, labels = broadcast(noise_entropy=given, classes=labels)
    entropy, most = to_nats(given, unit), np.log(labels)
    wrong = entropy > most * (1 + ROUNDING)
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0])
        raise InputError(
            f"noise_entropy is {given[place]:g} {unit} but a label of {labels[place]:g} classes holds "
            f"{from_nats(most[place], unit):.4g} at most: check the unit and the number of classes."
        )
    return np.minimum(entropy, most), labels

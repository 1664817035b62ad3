"""Entropy of coins and of distributions."""

from typing import Any

import numpy as np

from noiselimit.information.checks import Array, Numbers, distributions, numbers, plain
from noiselimit.information.units import Unit, from_nats


def binary_entropy(probability: Any, *, unit: Unit = "bits") -> Numbers:
    """H(p) = −p log p − (1 − p) log(1 − p), elementwise; 0 at p = 0 and p = 1."""
    return plain(from_nats(binary_nats(numbers("probability", probability, at_most=1)), unit))


def entropy(distribution: Any, *, unit: Unit = "bits") -> Numbers:
    """H = −Σ p log p of distributions [..., k], as [...]."""
    return plain(from_nats(entropy_nats(distributions("distribution", distribution)), unit))


def binary_nats(probability: Array) -> Array:
    """H(p) in nats of checked probabilities; exact for small p too, where 1 − p forgets digits."""
    other = np.log1p(-np.where(probability < 1, probability, 0))
    return -(_p_log_p(probability) + (1 - probability) * other)


def entropy_nats(distribution: Array) -> Array:
    """H in nats of checked distributions [..., k]."""
    return np.asarray(-_p_log_p(distribution).sum(axis=-1))


def _p_log_p(probability: Array) -> Array:
    return np.asarray(probability * np.log(np.where(probability > 0, probability, 1)))

"""Bounds of the paper: training error, gradient capacity and generalisation (Theorems 2.1 and 2.2)."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from noiselimit.errors import InputError, unknown
from noiselimit.information.entropy import (
    Array,
    Numbers,
    Unit,
    binary_nats,
    from_nats,
    numbers,
    plain,
    positive,
    to_nats,
    whole_numbers,
)

HALVINGS = 64  # bisection to 5e-20 of the interval
ROUNDING = 1e-9  # by how much, relatively, an entropy may exceed log k


def least_error(noise_entropy: Any, information: Any, classes: Any, *, unit: Unit = "bits") -> Numbers:
    """The smallest expected training error that Theorem 2.1 allows.

    Tight for uniform noise of p < (k − 1)/k without information, where it is p (Remark 3). Loose for other
    noise. Vacuous, 0, if the information is at least the noise entropy.

    Parameters
    ----------
    noise_entropy : float or array
        H(y|x) per label.
    information : float or array
        I(w;Y|X)/n per label.
    classes : int or array
        Number of classes k.
    """
    entropy, labels = _entropy_and_classes(noise_entropy, classes, unit)
    known = to_nats(numbers("information", information), unit)
    left = np.maximum(entropy - known, 0)
    # The left side of the inequality rises until r = (k − 1)/k, where it is log k.
    low, high = np.zeros_like(left), (labels - 1) / labels
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        too_small = _most_uncertainty(middle, labels) < left
        low, high = np.where(too_small, middle, low), np.where(too_small, high, middle)
    return plain(low)  # the lower end, so that rounding never claims too large an error


def least_information(noise_entropy: Any, error: Any, classes: Any, *, unit: Unit = "bits") -> Numbers:
    """The least information per label that a training error implies: Theorem 2.1 solved for the information.

    max(0, H(y|x) − r log(k − 1) − H(r)) ≤ I(w;Y|X)/n. Vacuous, 0, if predicting without memory allows the
    error. An error near 1 implies information, too: you must know a label to always miss it.

    Parameters
    ----------
    noise_entropy : float or array
        H(y|x) per label.
    error : float or array
        Expected error r on the given, noisy training labels.
    classes : int or array
        Number of classes k.
    """
    entropy, labels = _entropy_and_classes(noise_entropy, classes, unit)
    rate = numbers("error", error, at_most=1)
    return plain(from_nats(np.maximum(entropy - _most_uncertainty(rate, labels), 0), unit))


def _most_uncertainty(rate: Array, classes: Array) -> Array:
    """r log(k − 1) + H(r) in nats: the most entropy that a label guessed with this error rate can have."""
    return rate * np.log(classes - 1) + binary_nats(rate)


def _entropy_and_classes(noise_entropy: Any, classes: Any, unit: Unit) -> tuple[Array, Array]:
    """Both arguments as arrays, the entropy in nats and at most log k."""
    labels = whole_numbers("classes", classes, at_least=2)
    entropy, most = to_nats(numbers("noise_entropy", noise_entropy), unit), np.log(labels)
    excess = entropy > most * (1 + ROUNDING)
    if np.any(excess):
        limit = from_nats(np.broadcast_to(most, np.shape(excess))[excess].item(0), unit)
        raise InputError(
            f"noise_entropy is above {limit:.4g} {unit}, all that a label of so many classes holds: "
            "check the unit and the number of classes."
        )
    return np.minimum(entropy, most), labels


Distribution = Literal["gaussian", "laplace"]
# Entropy of a Gaussian minus that of this noise with the same variance, per component in nats.
SHORTFALL = {"gaussian": 0.0, "laplace": 0.5 * math.log(math.pi / math.e)}


@dataclass(frozen=True)
class TrainingCapacity:
    """How much information about the labels the gradients of a training can carry."""

    gradients: float
    """Sum of the gradient capacities: an upper bound on I(w;Y|X)."""
    labels: float
    """n·H(y|x), another upper bound."""

    @property
    def vacuous(self) -> bool:
        """Whether the gradients could carry all labels, so that the bound rules nothing out."""
        return self.gradients >= self.labels


def gradient_capacity(
    mean_square_norm: Any,
    dimension: Any,
    sigma: Any,
    distribution: Distribution = "gaussian",
    *,
    unit: Unit = "bits",
) -> Numbers:
    """Upper bound on I(g;Y|X, earlier gradients) for one noisy gradient g = μ + ε.

    (d/2) log(1 + L²/(dσ²)) for Gaussian noise, (d/2) log(π/e) more for Laplace noise. The paper claims the
    first for both, but Laplace noise has less entropy than Gaussian noise of the same variance.

    Parameters
    ----------
    mean_square_norm : float or array
        L² with E‖μ‖² ≤ L².
    dimension : int or array
        Dimension d. For LIMIT's gradient with respect to the logits it is k, or k − 1 under Gaussian noise.
    sigma : float or array
        Standard deviation of each component of ε. The Laplace scale is σ/√2.
    distribution : {"gaussian", "laplace"}
    """
    if distribution not in SHORTFALL:
        raise unknown("distribution", distribution, SHORTFALL)
    square = numbers("mean_square_norm", mean_square_norm)
    d = whole_numbers("dimension", dimension, at_least=1)
    deviation = positive("sigma", sigma)
    with np.errstate(over="ignore"):  # tiny noise: infinite capacity
        nats = d / 2 * np.log1p(square / d / deviation / deviation) + d * SHORTFALL[distribution]
    return plain(from_nats(nats, unit))


def training_capacity(
    mean_square_norms: Any,
    dimension: Any,
    sigma: Any,
    distribution: Distribution = "gaussian",
    *,
    examples: int,
    noise_entropy: float,
    unit: Unit = "bits",
) -> TrainingCapacity:
    """Upper bound on I(w;Y|X) for a whole training: the sum of `gradient_capacity` over all gradients.

    Assumes that labels reach the weights only through these gradients.

    Parameters
    ----------
    mean_square_norms : array [T]
        For each pass over the examples, the mean of ‖μ‖² over one noisy gradient per example.
    dimension, sigma : int, float or array [T]
        See `gradient_capacity`.
    distribution : {"gaussian", "laplace"}
    examples : int
        Number of examples n.
    noise_entropy : float
        H(y|x) per label.
    """
    capacities = gradient_capacity(mean_square_norms, dimension, sigma, distribution, unit=unit)
    count = float(whole_numbers("examples", examples, at_least=1))
    label = float(numbers("noise_entropy", noise_entropy))
    return TrainingCapacity(count * float(np.sum(capacities)), count * label)


def generalisation_gap(
    input_information: Any,
    label_information: Any,
    examples: Any,
    sigma: Any = 0.5,
    *,
    unit: Unit = "bits",
) -> Numbers:
    """Bound √(2σ² I(w;S)/n) on the expected difference of test and training loss (Theorem 2.2).

    I(w;S) = I(w;X) + I(w;Y|X). Vacuous if it exceeds the range of the loss: for error rates, from 2 nats (2.9
    bits) per example.

    Parameters
    ----------
    input_information, label_information : float or array
        I(w;X) and I(w;Y|X) of the whole training set, not per example.
    examples : int or array
        Number n of i.i.d. examples.
    sigma : float or array
        The loss is σ-sub-Gaussian. A loss in an interval of length b has σ = b/2: 1/2 for error rates.
    """
    inputs = numbers("input_information", input_information)
    labels = numbers("label_information", label_information)
    n = whole_numbers("examples", examples, at_least=1)
    deviation = numbers("sigma", sigma)
    return plain(deviation * np.sqrt(2 * to_nats(inputs + labels, unit) / n))

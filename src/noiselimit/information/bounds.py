"""Theorem 2.2 (Xu and Raginsky): the gap between training and test loss from the information in weights."""

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
    broadcast,
    from_nats,
    numbers,
    plain,
    positive,
    to_nats,
    whole_numbers,
)

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


Distribution = Literal["gaussian", "laplace"]
# By how much, per component, the entropy of noise of this variance falls short of a Gaussian's, in nats.
SHORTFALL = {"gaussian": 0.0, "laplace": 0.5 * math.log(math.pi / math.e)}


@dataclass(frozen=True)
class TrainingCapacity:
    """What the gradients of a training can tell of its labels, next to what there is to tell."""

    gradients: float
    """The sum of the gradients' capacities: an upper bound on I(w;Y|X)."""
    labels: float
    """n·H(y|x), which I(w;Y|X) cannot exceed either."""

    @property
    def vacuous(self) -> bool:
        """Whether the gradients could have told every label."""
        return self.gradients >= self.labels


def gradient_capacity(
    mean_square_norm: Any,
    dimension: Any,
    sigma: Any,
    distribution: Distribution = "gaussian",
    *,
    unit: Unit = "bits",
) -> Numbers:
    """An upper bound on I(g;Y|X, earlier gradients) for one gradient g = μ + ε in d dimensions.

    mean_square_norm: L² with E‖μ‖² ≤ L²; dimension: d; sigma: the standard deviation of each component of ε,
    which is independent of the rest (so a Laplace scale is σ/√2, as in the +S methods).
    For LIMIT's gradient of one example with respect to the logits d = k. Its components sum to 0, which
    allows d = k − 1 under Gaussian noise, a little tighter.

    Gaussian noise: (d/2) log(1 + L²/(dσ²)), reached by a Gaussian μ. Laplace noise: (d/2) log(π/e) more. The
    paper claims the first for both, but its proof subtracts the noise's entropy, and Laplace noise has less
    than Gaussian noise of that variance. Vacuous for one label where it exceeds H(y|x); for Laplace noise it
    does not vanish with L either.
    """
    if distribution not in SHORTFALL:
        raise unknown("distribution", distribution, SHORTFALL)
    square, d, deviation = broadcast(
        mean_square_norm=numbers("mean_square_norm", mean_square_norm),
        dimension=whole_numbers("dimension", dimension, at_least=1),
        sigma=positive("sigma", sigma),
    )
    with np.errstate(over="ignore"):  # noise of next to nothing: infinite capacity, as it should be
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
    """I(w;Y|X) ≤ Σ_t I(g_t;Y|X, g_<t) (eq. chain-rule), each term bounded by `gradient_capacity`.

    mean_square_norms: [T], for each pass over the n examples the mean of ‖μ‖² over them, where each example
    gave one noisy gradient of its own; the logarithm is concave, so the mean bounds their sum. dimension and
    sigma: numbers or [T]. noise_entropy: H(y|x) per label.
    Assumes that labels reach the weights through these gradients alone: the start, the order of the batches
    and the regularisation know nothing of them. Vacuous, and says so, where it is n·H(y|x) or more.
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
    """√(2σ² I(w;S)/n) ≥ |E[test loss − training loss]| with I(w;S) = I(w;X) + I(w;Y|X).

    input_information: I(w;X) and label_information: I(w;Y|X), of the whole training set, not per example;
    examples: n, i.i.d.; sigma: the loss of every fixed w is σ-sub-Gaussian under the data. A loss in an
    interval of length b has σ = b/2, so 1/2 is right for the rate of errors; cross-entropy has no bound.
    In expectation over data and trainings. Vacuous where it exceeds the range of the loss, for the rate of
    errors from 2 nats (2.9 bits) per example on; then it is returned all the same. Memorised noise alone, at
    H(y|x) per label, keeps it above √(2σ² H(y|x)) however many examples there are.
    """
    inputs, labels, n, deviation = broadcast(
        input_information=numbers("input_information", input_information),
        label_information=numbers("label_information", label_information),
        examples=whole_numbers("examples", examples, at_least=1),
        sigma=numbers("sigma", sigma),
    )
    return plain(deviation * np.sqrt(2 * to_nats(inputs + labels, unit) / n))

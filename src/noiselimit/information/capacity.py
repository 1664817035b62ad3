"""Proposition 3.1: what a noisy gradient can tell of the labels, and a whole training (eq. chain-rule)."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from noiselimit.errors import unknown
from noiselimit.information.checks import Numbers, broadcast, numbers, plain, positive, whole_numbers
from noiselimit.information.units import Unit, from_nats

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

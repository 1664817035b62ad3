"""Estimate how many labels are wrong, and how well predictions agree with labels."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from noiselimit.audit.quality import Floats, Labels, Quality

Z = 1.959964  # of a 95 % interval
Z_90 = 1.644854
MIN_BEYOND_CHANCE = 0.05
"""Minimum Cohen's κ of held-out agreement for an audit to be trusted. With 80 % of the labels of ten classes
wrong, the best possible value is 0.11; with 45 % of two classes, 0.1."""


@dataclass(frozen=True, eq=False)
class NoiseRate:
    """How many labels are wrong, estimated from probabilities alone."""

    examples: int
    """Number of labelled examples."""
    wrong: int
    """Estimated number of wrong labels: the sum of their probabilities of being wrong."""
    interval: tuple[float, float]
    """Range that should hold the share of wrong labels with a probability of 90 %."""
    joint: Floats
    """[C given, C true], sums to 1; off the diagonal are the estimated wrong labels."""
    known_from: int
    """Number of examples that the networks' probabilities rest on: all, or only the held-out ones if the
    others were calibrated to them."""

    @property
    def rate(self) -> float:
        """Estimated share of wrong labels."""
        return self.wrong / self.examples

    @property
    def transition(self) -> Floats:
        """P(given | true) [C true, C given]; identity rows for classes that are never the true one."""
        true = self.joint.sum(0)[:, np.newaxis]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(true > 0, self.joint.T / true, np.eye(len(self.joint)))


def estimate_noise_rate(quality: Quality, anchors: int, known_from: int | None = None) -> NoiseRate:
    """Estimate the number of wrong labels; `anchors` is the number of labels that the noise rests on.

    The range has two causes: the number of anchors, and labels that are neither surely right nor surely
    wrong, whose number depends most on how well the probabilities are calibrated.
    """
    examples, error = len(quality), quality.error_probability
    wrong = float(error.sum())
    share, unsure = wrong / examples, float(error @ quality.label_quality) / max(wrong, 1e-9)
    spread = share * unsure
    low, high = wilson(share * anchors, anchors, Z_90)
    interval = (
        max(share - math.hypot(share - low, Z_90 * spread), 0.0),
        min(share + math.hypot(high - share, Z_90 * spread), 1.0),
    )
    return NoiseRate(
        examples,
        round(wrong),
        interval,
        quality.joint / examples,
        examples if known_from is None else known_from,
    )


def wilson(count: float, of: float, z: float = Z) -> tuple[float, float]:
    """Wilson interval of a share, from `count` among `of` independent cases."""
    if of == 0:
        return 0.0, 1.0
    share, extra = count / of, z * z / of
    middle = share + extra / 2
    half = z * math.sqrt(share * (1 - share) / of + extra / (4 * of))
    # Rounding must not keep the ends from reaching 0 and 1.
    low = (middle - half) / (1 + extra) if count else 0.0
    high = (middle + half) / (1 + extra) if count < of else 1.0
    return max(0.0, low), min(1.0, high)


@dataclass(frozen=True)
class Agreement:
    """How often predicted labels equal given labels, on held-out examples."""

    share: float
    chance: float
    """The share expected if the same labels were shuffled among the examples."""
    examples: int
    settings: int = 1
    """Number of settings that the share is the best of; the best of several overestimates itself."""

    @property
    def low(self) -> float:
        """Lower 97.5 % confidence limit of the share, corrected for the choice among settings."""
        z = NormalDist().inv_cdf(1 - 0.025 / self.settings)
        return wilson(self.share * self.examples, self.examples, z)[0]

    @property
    def beyond_chance(self) -> float:
        """Cohen's κ: 0 at chance, 1 at full agreement."""
        return (self.share - self.chance) / (1 - self.chance) if self.chance < 1 else 0.0


def agreement(predicted: Labels, given: Labels, classes: int) -> Agreement:
    """Compare predicted with given labels [m], m ≥ 1."""
    a, b = (np.bincount(labels, minlength=classes) / len(given) for labels in (predicted, given))
    return Agreement(float((predicted == given).mean()), float(a @ b), len(given))

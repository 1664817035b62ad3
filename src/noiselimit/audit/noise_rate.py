"""Estimate how many labels are wrong, and how well predictions agree with labels."""

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from noiselimit.audit.quality import NO_THRESHOLD, Floats, Labels, Probabilities, Quality, chunks

MARGIN = 1 / 3  # of the median lead; 1/2 and 0.7 find less under pair noise
SUREST = 0.3  # share of each predicted class in which every disagreement counts as a wrong label
CERTAIN = 0.99  # upper limit of the class thresholds of the confident joint
Z = 1.959964  # of a 95 % interval
MIN_BEYOND_CHANCE = 0.05
"""Minimum Cohen's κ of held-out agreement for an audit to be trusted. With 80 % of the labels of ten classes
wrong, the best possible value is 0.11; with 45 % of two classes, 0.1."""
_ROUNDING = 1e-9  # equal probabilities in single precision must reach their own mean


@dataclass(frozen=True, eq=False)
class NoiseRate:
    """How many labels are wrong, estimated from probabilities alone."""

    examples: int
    """Number of labelled examples."""
    wrong: int
    """Estimated number of wrong labels."""
    interval: tuple[float, float]
    """Range for the share of wrong labels. Lower end: the share among the most confident predictions, as if
    all other disagreement came from overlapping classes. Upper end: every disagreement. Both ends include
    the 95 % error of counting (Wilson). If classes overlap, the lower end is too high as well."""
    joint: Floats
    """[C given, C true], sums to 1; off the diagonal are the estimated wrong labels."""
    known_from: int
    """Number of examples that the estimate rests on: all, or only the held-out ones if the others were
    calibrated to them."""

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


def estimate_noise_rate(
    probabilities: Probabilities, quality: Quality, known_from: int | None = None
) -> NoiseRate:
    """Estimate the number of wrong labels from probabilities [n, C] and their `measure`.

    The estimate is the smaller of the confident joint (as in cleanlab) and the number of labels that the
    predictions clearly contradict.
    """
    known_from = len(quality) if known_from is None else known_from
    classes = probabilities.shape[1]
    joint = _confident_joint(probabilities, quality)
    off_diagonal = float(joint.sum() - np.trace(joint))
    contradicted = (quality.doubt > 0) & (quality.doubt > MARGIN * float(np.median(quality.lead)))
    wrong = min(round(off_diagonal), int(contradicted.sum()))
    if off_diagonal > 0:
        # Scale the joint to the estimate; every given class keeps its size.
        sizes = np.bincount(quality.given, minlength=classes)
        joint *= min(1.0, wrong / off_diagonal)
        np.fill_diagonal(joint, 0.0)
        np.fill_diagonal(joint, np.maximum(sizes - joint.sum(1), 0.0))
    share = wrong / len(quality)
    counted = known_from / len(quality)
    disagreeing, surest = _disagreements_of_the_surest(quality, classes)
    low, _ = wilson(disagreeing * counted, surest * counted)
    _, high = wilson(int(quality.disagrees.sum()) * counted, known_from)
    interval = min(low, share), max(high, share)
    return NoiseRate(len(quality), wrong, interval, joint / len(quality), known_from)


def gap_threshold(noise_rate: NoiseRate, quality: Quality) -> float:
    """The gap from which disagreements count as wrong labels."""
    if noise_rate.wrong == 0:
        return NO_THRESHOLD
    return float(np.partition(quality.gap, -noise_rate.wrong)[-noise_rate.wrong])


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


def _confident_joint(probabilities: Probabilities, quality: Quality) -> Floats:
    """Counts [C given, C true], every row scaled to the size of its given class."""
    rows, classes = probabilities.shape
    thresholds = _class_thresholds(quality, classes) - _ROUNDING
    counts = np.zeros(classes * classes)
    for part in chunks(rows, classes):
        p = np.array(probabilities[part], np.float64)
        p[p < thresholds] = -1.0
        confident = p.max(1) >= 0
        cells = quality.given[part][confident] * classes + p[confident].argmax(1)
        seen, times = np.unique(cells, return_counts=True)
        counts[seen] += times
    joint = counts.reshape(classes, classes)
    diagonal = np.arange(classes)
    joint[diagonal, diagonal] = np.maximum(joint[diagonal, diagonal], 1.0)  # no class is entirely wrong
    joint *= (np.bincount(quality.given, minlength=classes) / joint.sum(1))[:, np.newaxis]
    return joint


def _class_thresholds(quality: Quality, classes: int) -> Floats:
    """[C]: mean self-confidence of each given class, at most CERTAIN; infinite for an empty class."""
    order = np.argsort(quality.given, kind="stable")
    starts = np.searchsorted(quality.given[order], np.arange(classes + 1))
    thresholds = np.full(classes, np.inf)
    for label, (start, end) in enumerate(pairwise(starts)):
        if end > start:  # an exact sum does not depend on the order of the rows
            mean = math.fsum(quality.self_confidence[order[start:end]]) / (end - start)
            thresholds[label] = min(mean, CERTAIN)
    return thresholds


def _disagreements_of_the_surest(quality: Quality, classes: int) -> tuple[float, int]:
    """Disagreements among the most confident predictions of each class (weighted by its size), and how many
    predictions were looked at."""
    order = np.lexsort((-quality.probability, quality.predicted))
    predicted, probability = quality.predicted[order], quality.probability[order]
    disagrees = quality.disagrees[order]
    starts = np.searchsorted(predicted, np.arange(classes + 1))
    share, seen = 0.0, 0
    for start, end in pairwise(starts):
        if end == start:
            continue
        last = probability[start + max(math.ceil(SUREST * (end - start)), min(end - start, 10)) - 1]
        surest = disagrees[start:end][probability[start:end] >= last]
        share += float(surest.mean()) * int(end - start) / len(quality)
        seen += len(surest)
    return share * seen, seen


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

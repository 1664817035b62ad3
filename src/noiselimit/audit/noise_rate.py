"""How far predicted labels agree with given ones, and how far they would by chance."""

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from noiselimit.audit.quality import NO_THRESHOLD, Flags, Floats, Quality, Rows, chunks

MARGIN = 1 / 3  # of the median lead; with 1/2 or 0.7 less is found at pair noise
SUREST = 0.3  # share of each predicted class in which a disagreement is taken for a wrong label
CERTAIN = 0.99  # always suffices: where nearly all labels are right, usual self-confidence is nearer to 1
Z = 1.959964  # of a 95 % interval
_ROUNDING = 1e-9  # probabilities in single precision that are all alike reach their own mean


@dataclass(frozen=True, eq=False)
class NoiseRate:
    """How many of the labels are wrong, estimated from probabilities alone."""

    examples: int
    """Those with a label."""
    wrong: int
    """The estimate."""
    interval: tuple[float, float]
    """Shares of wrong labels. From: what is wrong where the predictor is surest, as if it were so everywhere
    and all other disagreement were classes that overlap. To: every disagreement, as if the predictor were
    always right. Both widened by the 95 % error of counting (Wilson), and so that it holds the estimate. No
    95 % interval of the whole: where classes overlap by nature, its lower end is too high as well."""
    joint: Floats
    """[C given, C right], sums to 1; off the diagonal: the estimated wrong labels."""
    known_from: int
    """Examples by which the number is known: all, or only those held out, if the others were brought to
    their scale and so tell nothing more."""

    @property
    def rate(self) -> float:
        """Share of wrong labels."""
        return self.wrong / self.examples

    @property
    def transition(self) -> Floats:
        """[C right, C given]: P(given | right); a class that is never right has the row of no noise."""
        right = self.joint.sum(0)[:, np.newaxis]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(right > 0, self.joint.T / right, np.eye(len(self.joint)))


def estimate_noise_rate(probabilities: Rows, quality: Quality, known_from: int | None = None) -> NoiseRate:
    """From probabilities [n, C] and what `measure` says of them; `known_from` is as in `NoiseRate`."""
    known_from = len(quality) if known_from is None else known_from
    classes = probabilities.shape[1]
    joint = _confident_joint(probabilities, quality)
    off_diagonal = float(joint.sum() - np.trace(joint))
    by_joint, by_doubt = off_diagonal, int(_doubtful(quality).sum())
    wrong = min(round(by_joint), by_doubt)
    if off_diagonal > 0:
        # Scaled so that the table and the number agree; each given class keeps its size.
        sizes = np.bincount(quality.given, minlength=classes)
        joint *= min(1.0, wrong / off_diagonal)
        np.fill_diagonal(joint, 0.0)
        np.fill_diagonal(joint, np.maximum(sizes - joint.sum(1), 0.0))
    share = wrong / len(quality)
    told = known_from / len(quality)
    disagreeing, surest = _disagreements_of_the_surest(quality, classes)
    low, _ = wilson(disagreeing * told, surest * told)
    _, high = wilson(int(quality.disagrees.sum()) * told, known_from)
    interval = min(low, share), max(high, share)
    return NoiseRate(len(quality), wrong, interval, joint / len(quality), known_from)


def gap_threshold(noise_rate: NoiseRate, quality: Quality) -> float:
    """The gap from which on disagreements are taken for wrong labels; NO_THRESHOLD if none are."""
    if noise_rate.wrong == 0:
        return NO_THRESHOLD
    return float(np.partition(quality.gap, -noise_rate.wrong)[-noise_rate.wrong])


def wilson(count: float, of: float, z: float = Z) -> tuple[float, float]:
    """95 % interval of a share, from `count` among `of` independent cases; `z` is for other intervals."""
    if of == 0:
        return 0.0, 1.0
    share, extra = count / of, z * z / of
    middle = share + extra / 2
    half = z * math.sqrt(share * (1 - share) / of + extra / (4 * of))
    # Rounding must not keep the ends 0 and 1 from being reached.
    low = (middle - half) / (1 + extra) if count else 0.0
    high = (middle + half) / (1 + extra) if count < of else 1.0
    return max(0.0, low), min(1.0, high)


def _doubtful(quality: Quality) -> Flags:
    return np.asarray((quality.doubt > 0) & (quality.doubt > MARGIN * float(np.median(quality.lead))))


def _confident_joint(probabilities: Rows, quality: Quality) -> Floats:
    """[C given, C right]: numbers of examples, every row scaled to the size of its given class."""
    rows, classes = probabilities.shape
    reach = _usual_self_confidence(quality, classes) - _ROUNDING
    counts = np.zeros(classes * classes)
    for piece in chunks(rows, classes):
        p = np.array(probabilities[piece], np.float64)
        p[p < reach] = -1.0
        confident = p.max(1) >= 0
        cells = quality.given[piece][confident] * classes + p[confident].argmax(1)
        seen, times = np.unique(cells, return_counts=True)
        counts[seen] += times
    joint = counts.reshape(classes, classes)
    diagonal = np.arange(classes)
    joint[diagonal, diagonal] = np.maximum(joint[diagonal, diagonal], 1.0)  # no class is wrong throughout
    joint *= (np.bincount(quality.given, minlength=classes) / joint.sum(1))[:, np.newaxis]
    return joint


def _usual_self_confidence(quality: Quality, classes: int) -> Floats:
    """[C]: mean probability of the class among the examples given it, at most CERTAIN; infinite for a class
    without any."""
    order = np.argsort(quality.given, kind="stable")
    starts = np.searchsorted(quality.given[order], np.arange(classes + 1))
    usual = np.full(classes, np.inf)
    for label, (start, end) in enumerate(pairwise(starts)):
        if end > start:  # an exact sum does not depend on the order of the rows
            usual[label] = min(math.fsum(quality.self_confidence[order[start:end]]) / (end - start), CERTAIN)
    return usual


def _disagreements_of_the_surest(quality: Quality, classes: int) -> tuple[float, int]:
    """Disagreements among the surest of each predicted class, classes weighted by size; and of how many."""
    order = np.lexsort((-quality.probability, quality.predicted))
    predicted, probability = quality.predicted[order], quality.probability[order]
    disagrees = quality.disagrees[order]
    starts = np.searchsorted(predicted, np.arange(classes + 1))
    share, seen = 0.0, 0
    for start, end in pairwise(starts):
        if end == start:
            continue
        last = probability[start + max(math.ceil(SUREST * (end - start)), min(end - start, 10)) - 1]
        surest: npt.NDArray[np.bool_] = disagrees[start:end][probability[start:end] >= last]
        share += float(surest.mean()) * int(end - start) / len(quality)
        seen += len(surest)
    return share * seen, seen


LEAST = 0.05
"""How far from chance to 1 the agreement with labels that did not train must come, however many: with
80 % of ten classes' labels wrong, 0.11 is all that can be reached, with 45 % of two classes' 0.1."""
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Agreement:
    """Of predicted with given labels, among examples that did not train."""

    share: float
    chance: float
    """The share if the same labels were dealt out anew among these examples. Always naming the commonest
    class agrees with as many as chance does, so that rare classes do not make a network look idle or able."""
    examples: int
    settings: int = 1
    """Among so many a share was chosen, by these labels: the best of several is easily better than it is."""

    @property
    def low(self) -> float:
        """What the share is at least; of dice, in at most 2.5 % of the cases it lies above chance."""
        z = NormalDist().inv_cdf(1 - 0.025 / self.settings)
        return wilson(self.share * self.examples, self.examples, z)[0]

    @property
    def beyond_chance(self) -> float:
        """How far from chance to 1 the share comes (Cohen's κ); 0 where chance agrees with all."""
        return (self.share - self.chance) / (1 - self.chance) if self.chance < 1 else 0.0


def agreement(predicted: Labels, given: Labels, classes: int) -> Agreement:
    """From predicted and given labels [m ≥ 1]."""
    said, are = (np.bincount(labels, minlength=classes) / len(given) for labels in (predicted, given))
    return Agreement(float((predicted == given).mean()), float(said @ are), len(given))

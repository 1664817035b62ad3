"""How many wrong labels are left: estimates that stay honest whatever the order of review.

Rows that a reviewer chose, or that the order put first, say little about the rest. So every few rows a row
comes up that was drawn at random among those without a decision, flagged or not. If a group of labels holds
T wrong ones, of which W are known before a draw, and N rows have no decision, the drawn label is wrong with
probability (T − W) / N, exactly and whatever was reviewed before. That gives the distribution of the number
of wrong labels among the draws for each T, and the interval holds the T under which the number that was found
is not too unusual, as in the interval of Clopper and Pearson.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

CONFIDENCE = 0.95
CANDIDATES = 65
"""Values of T that are examined at once."""
WORTH = 0.1
"""A row is worth a review if it is wrong with at least this probability."""
EXACT = 50
"""With more hits and misses, the number of hits is as good as normally distributed."""
PRIOR_SPREAD = np.array([2.0, 0.5])
"""Standard deviations of intercept and slope, before decisions change them."""
NEWTON_STEPS = 25
SURE = 1e-4
"""Error probabilities are kept away from 0 and 1 by this much."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Range(NamedTuple):
    """An estimate and its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Reviewed:
    """What is known about each label of an audit, [n] each."""

    order: Integers
    """When the row was first decided, as an increasing number; 0 without a decision."""
    wrong: Flags
    """Decided that the label is wrong: another class, or no class at all."""
    drawn: Flags
    """Decided as a random check."""


@dataclass(frozen=True)
class Estimate:
    """What the decisions so far say."""

    decided: int
    found: int
    """Wrong labels among the decided ones."""
    draws: int
    precision: Range | None
    """Share of the flagged labels that are wrong; None if nothing is flagged."""
    remaining: Range
    """Wrong labels without a decision, flagged or not."""
    budget: int
    """Rows without a decision that are wrong with a probability of at least WORTH."""
    budget_finds: float
    """Wrong labels expected among them."""


def estimate(flagged: Integers, unflagged: Integers, reviewed: Reviewed, probability: Floats) -> Estimate:
    """Estimate precision and remaining errors.

    Rows are drawn from two groups, flagged and unflagged, each in the random order in which they are drawn:
    the next draw is the first row without a decision. The audit says with which `probability` [n] each label
    is wrong.
    """
    rows = np.concatenate([flagged, unflagged])
    decided = reviewed.order > 0
    adjusted = probability.copy()
    for own in (flagged, unflagged):  # decisions about flagged labels say little about the others
        adjusted[own] = recalibrate(probability[own], reviewed.order[own] > 0, reviewed.wrong[own])
    flagged_wrong = _wrong_labels(flagged, reviewed, adjusted, CONFIDENCE)
    unsettled = [group for group in (flagged, unflagged) if not decided[group].all()]
    # Several intervals hold their truths together if each is surer by its share of the doubt. Their ends may
    # then be added, however the errors of the groups depend on each other.
    confidence = 1 - (1 - CONFIDENCE) / max(len(unsettled), 1)
    parts = [_wrong_labels(group, reviewed, adjusted, confidence) for group in (flagged, unflagged)]
    open_rows = rows[~decided[rows]]
    found = int(reviewed.wrong[rows].sum())
    total = [sum(ends) for ends in zip(*parts, strict=True)]
    worth = open_rows[adjusted[open_rows] >= WORTH]
    size = len(flagged)
    return Estimate(
        decided=int(decided[rows].sum()),
        found=found,
        draws=int(reviewed.drawn[rows].sum()),
        precision=Range(*(end / size for end in flagged_wrong)) if size else None,
        remaining=Range(*(min(max(end - found, 0.0), float(len(open_rows))) for end in total)),
        budget=len(worth),
        budget_finds=float(adjusted[worth].sum()),
    )


def _wrong_labels(rows: Integers, reviewed: Reviewed, probability: Floats, confidence: float) -> Range:
    """The number T of wrong labels in a group."""
    order, wrong = reviewed.order[rows], reviewed.wrong[rows]
    known, unknown = int(wrong.sum()), int((order == 0).sum())
    value = known + float(probability[rows][order == 0].sum())
    low, high = interval(*_draws(order, wrong, reviewed.drawn[rows]), known, known + unknown, confidence)
    return Range(min(max(value, low), high), low, high)


def _draws(order: Integers, wrong: Flags, drawn: Flags) -> tuple[Integers, Integers, int]:
    """(wrong labels found before each draw but not by draws, rows without a decision, draws that are wrong).

    The arrays are in the order of drawing. Draws that were reviewed while an earlier one was skipped do not
    count as draws: the reviewer may have chosen them.
    """
    waiting = np.flatnonzero(order == 0)
    counted = drawn.copy()
    counted[waiting[0] if len(waiting) else len(order) :] = False
    draws = np.flatnonzero(counted)
    times = np.maximum.accumulate(order[draws])
    others = np.flatnonzero((order > 0) & ~counted)
    others = others[np.argsort(order[others], kind="stable")]
    before = np.searchsorted(order[others], times)
    found = np.concatenate([[0], np.cumsum(wrong[others])])[before]
    left = len(order) - before - np.arange(len(draws))
    return found.astype(np.int64), left.astype(np.int64), int(wrong[draws].sum())


def interval(
    found: Integers, left: Integers, hits: int, least: int, most: int, confidence: float = CONFIDENCE
) -> tuple[int, int]:
    """The numbers T of wrong labels, `least` to `most`, that agree with `hits` wrong ones among the draws.

    Parameters
    ----------
    found, left
        For each draw, the wrong labels found before it in other ways, and the rows that had no decision.
    """
    tail = (1 - confidence) / 2

    def too_few(totals: Integers) -> Flags:  # so many hits would be unusual
        return 1 - _at_most(hits - 1, totals, found, left) <= tail

    def not_too_many(totals: Integers) -> Flags:
        return _at_most(hits, totals, found, left) > tail

    low = _first_false(too_few, least, most)
    return low, max(_first_false(not_too_many, low, most + 1) - 1, low)


def _at_most(hits: int, totals: Integers, found: Integers, left: Integers) -> Floats:
    """P(at most `hits` draws are wrong) for each number T of wrong labels."""
    if hits < 0:
        return np.zeros(len(totals))
    if min(hits, len(left) - hits) > EXACT:
        return _at_most_normal(hits, totals, found, left)
    state = np.zeros((len(totals), hits + 1))  # P(number of hits so far)
    state[:, 0] = 1.0
    so_far = np.arange(hits + 1)
    for others, rows in zip(found, left, strict=True):
        chance = np.clip((totals[:, None] - others - so_far) / rows, 0.0, 1.0)
        hit = state * chance
        state -= hit
        state[:, 1:] += hit[:, :-1]
    return np.asarray(state.sum(1))


def _at_most_normal(hits: int, totals: Integers, found: Integers, left: Integers) -> Floats:
    """The same by the normal distribution with the same mean and variance, for many hits and misses."""
    mean, variance = np.zeros(len(totals)), np.zeros(len(totals))
    for others, rows in zip(found, left, strict=True):
        chance = np.clip((totals - others - mean) / rows, 0.0, 1.0)
        variance = np.maximum(variance * (1 - 2 / rows) + chance * (1 - chance), 0.0)
        mean = mean + chance
    return np.asarray(ndtr((hits + 0.5 - mean) / np.sqrt(np.maximum(variance, SURE))), np.float64)


def _first_false(holds: Callable[[Integers], Flags], low: int, high: int) -> int:
    """The smallest number in [low, high] from which on a condition fails; `high` if it never does."""
    while low < high:
        grid = np.unique(np.linspace(low, high - 1, CANDIDATES).astype(np.int64))
        fails = np.flatnonzero(~holds(grid))
        if not len(fails):
            return high
        place = int(fails[0])
        high = int(grid[place])
        low = int(grid[place - 1]) + 1 if place else high
    return high


def recalibrate(probability: Floats, decided: Flags, wrong: Flags) -> Floats:
    """Adjust error probabilities to the decisions, by a logistic regression on their logit.

    Without decisions they stay as they are; the prior of slope and intercept is centred there.
    """
    logits = _logit(probability)
    rows = np.flatnonzero(decided)
    design = np.stack([np.ones(len(rows)), logits[rows]], 1)
    target = wrong[rows].astype(np.float64)
    weights = centre = np.array([0.0, 1.0])
    for _ in range(NEWTON_STEPS):
        fitted = 1 / (1 + np.exp(-design @ weights))
        gradient = design.T @ (target - fitted) - (weights - centre) / PRIOR_SPREAD**2
        curvature = (design.T * (fitted * (1 - fitted))) @ design + np.diag(PRIOR_SPREAD**-2)
        step = np.linalg.solve(curvature, gradient)
        weights = weights + step / max(1.0, float(np.abs(step).max()))  # no step is longer than 1
    slope = max(float(weights[1]), 0.0)
    return np.asarray(1 / (1 + np.exp(-(weights[0] + slope * logits))))


def _logit(probability: Floats) -> Floats:
    inside = np.clip(probability, SURE, 1 - SURE)
    return np.asarray(np.log(inside / (1 - inside)))

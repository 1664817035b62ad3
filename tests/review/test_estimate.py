"""Estimates from a review hold the truth, whatever the order of review."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from noiselimit.review.estimate import (
    Estimate,
    Flags,
    Floats,
    Integers,
    Reviewed,
    estimate,
    interval,
)
from noiselimit.review.queue import Filter, Queue


def review(
    wrong: Flags, probability: Floats, flagged: Flags, order: str, steps: int
) -> tuple[Estimate, Flags]:
    """Review `steps` rows from the top of the queue; return the estimate and which rows were decided."""
    count = len(wrong)
    given = np.arange(count) % 5
    queue = Queue(given, (given + 1 + np.arange(count) % 3) % 5, probability, flagged, tuple("abcde"))
    reviewed = Reviewed(np.zeros(count, np.int64), np.zeros(count, bool), np.zeros(count, bool))
    none, done = np.zeros(count, bool), 0
    while done < steps:
        rows, checks = queue.rows(Filter(order=order), reviewed.order > 0, none, none)
        drawn = set(checks.tolist())
        for place, row in enumerate(rows[: min(37, steps - done)]):  # then the list is asked for anew
            done += 1
            reviewed.order[row], reviewed.wrong[row] = done, wrong[row]
            reviewed.drawn[row] = place in drawn
    return estimate(queue.flagged, queue.unflagged, reviewed, probability), reviewed.order > 0


def shuffled(rows: Integers, seed: int) -> Integers:
    return np.random.default_rng(seed).permutation(rows)


@pytest.mark.parametrize("order", ["probability", "diverse", "pairs"])
def test_intervals_hold_the_truth(order: str) -> None:
    hits = []
    for seed in range(40):
        generator = np.random.default_rng(seed)
        right = generator.beta(0.5, 2, 500)
        wrong = generator.random(500) < right
        probability = right ** generator.choice([0.5, 1.0, 2.0])  # the audit may be too sure, or not enough
        flagged = probability > 0.3
        steps = int(generator.integers(15, flagged.sum()))
        found, decided = review(wrong, probability, flagged, order, steps)
        assert found.decided == steps
        assert found.found == wrong[decided].sum()
        left = (wrong & ~decided).sum()
        assert found.precision is not None
        hits.append(found.remaining.low <= left <= found.remaining.high)
        hits.append(found.precision.low <= wrong[flagged].mean() <= found.precision.high)
        assert found.remaining.low <= found.remaining.value <= found.remaining.high
    assert np.mean(hits) >= 0.9


def test_everything_reviewed_leaves_no_doubt() -> None:
    generator = np.random.default_rng(1)
    probability = generator.random(50)
    wrong = probability > 0.6
    rows = np.arange(50)
    reviewed = Reviewed(generator.permutation(50) + 1, wrong, np.zeros(50, bool))
    flagged, unflagged = shuffled(rows[probability > 0.5], 0), shuffled(rows[probability <= 0.5], 1)
    found = estimate(flagged, unflagged, reviewed, probability)
    assert found.remaining == (0, 0, 0)
    assert found.precision is not None
    assert found.precision == pytest.approx([wrong.sum() / (probability > 0.5).sum()] * 3)
    assert found.budget == 0


def test_without_decisions_the_audit_is_believed_and_nothing_is_certain() -> None:
    probability = np.linspace(0, 1, 101)
    none = Reviewed(np.zeros(101, np.int64), np.zeros(101, bool), np.zeros(101, bool))
    found = estimate(shuffled(np.arange(50, 101), 0), shuffled(np.arange(50), 1), none, probability)
    assert found.remaining.value == pytest.approx(probability.sum(), rel=0.01)
    assert (found.remaining.low, found.remaining.high) == pytest.approx((0, 101), abs=22)
    assert found.budget == 91


def test_the_interval_without_other_reviews_is_that_of_the_hypergeometric_distribution() -> None:
    size, draws, hits = 12, 5, 2
    left = size - np.arange(draws)
    low, high = interval(np.zeros(draws, np.int64), left, hits, hits, size - draws + hits)
    samples = list(combinations(range(size), draws))

    def share(total: int, at_least: bool) -> Fraction:
        counts = [sum(row < total for row in sample) for sample in samples]
        return Fraction(sum(n >= hits if at_least else n <= hits for n in counts), len(samples))

    possible = range(hits, size - draws + hits + 1)
    inside = [t for t in possible if share(t, True) > Fraction(1, 40) and share(t, False) > Fraction(1, 40)]
    assert (low, high) == (inside[0], inside[-1])


def test_many_draws_have_nearly_the_exact_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    draws, hits = 300, 90
    found, left = np.arange(draws) // 2, 5000 - 3 * np.arange(draws)
    normal = interval(found, left, hits, 240, 4000)
    monkeypatch.setattr("noiselimit.review.estimate.EXACT", draws)
    assert normal == pytest.approx(interval(found, left, hits, 240, 4000), rel=0.02)


def test_a_skipped_check_stops_later_ones_from_counting() -> None:
    rows = np.arange(30)
    group = shuffled(rows, 0)
    order, drawn = np.zeros(30, np.int64), np.zeros(30, bool)
    chosen = group[1:6]  # without the first draw
    order[chosen], drawn[chosen] = np.arange(1, 6), True
    wrong = drawn.copy()
    empty = shuffled(rows[:0], 0)
    found = estimate(group, empty, Reviewed(order, wrong, drawn), np.full(30, 0.5))
    assert (found.remaining.low, found.remaining.high) == (0, 25)
    order[group[0]], drawn[group[0]] = 6, True
    found = estimate(group, empty, Reviewed(order, wrong, drawn), np.full(30, 0.5))
    assert found.remaining.low > 0

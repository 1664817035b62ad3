"""The benchmark of the review page, in miniature and without a browser."""

import math

from benchmarks.review import decision_times, noisy, served, simulate


def test_decisions_are_timed() -> None:
    with served(100) as review:
        times = decision_times(review, 5)
        assert len(review.decisions.current()) == 5
    assert all(0 < seconds < math.inf for seconds in times)


def test_a_review_is_simulated() -> None:
    found = simulate(*noisy("iris", 0), 0)
    assert found["remaining_low"] <= found["remaining_value"] <= found["remaining_high"]
    assert 0 <= found["left"] <= 150

"""Checkpoints are as rare as they are dear."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.engine.checkpoints import (
    ASSUMED_SPEED,
    FIRST_AT_LATEST,
    LEAST_SECONDS,
    Interval,
    parse_interval,
)
from noiselimit.errors import InputError


@given(
    cost=st.floats(0.001, 100),
    epoch=st.floats(0.01, 500),
    size=st.integers(0, 10**11),
    epochs=st.integers(1, 2000),
)
def test_they_take_less_than_a_fiftieth_of_the_time(
    cost: float, epoch: float, size: int, epochs: int
) -> None:
    """After the first, whose cost was a guess; the wait never is longer than that asks for, and an epoch."""
    now = 0.0
    interval = Interval(None, lambda: now)
    ends: list[float] = []
    for _ in range(epochs):
        now += epoch
        if interval.is_due(lambda: size):
            assert now - (ends[-1] if ends else 0) >= LEAST_SECONDS
            now += cost
            interval.took(cost)
            ends.append(now)
        elif ends:
            assert now - ends[-1] < max(LEAST_SECONDS, 50 * cost)
    if ends:
        assert ends[0] - cost >= min(FIRST_AT_LATEST, 50 * size / ASSUMED_SPEED)
    elif now >= FIRST_AT_LATEST:
        raise AssertionError("the first never came")
    between = ends[-1] - ends[0] if ends else 0
    assert cost * (len(ends) - 1) <= 0.02 * between + 1e-6


def test_asked_for_they_come_when_asked_for() -> None:
    now = 0.0
    every, rare = Interval(0.0, lambda: now), Interval(7.0, lambda: now)
    assert every.is_due(lambda: 10**12)
    assert not rare.is_due(lambda: 0)
    now = 7.0
    assert rare.is_due(lambda: 0)
    rare.took(100.0)
    assert not rare.is_due(lambda: 0)
    now = 14.0
    assert rare.is_due(lambda: 0)


def test_what_is_asked_for_is_checked() -> None:
    assert parse_interval("auto") is None
    assert parse_interval("off") == float("inf")
    assert parse_interval("2.5") == 2.5
    assert parse_interval(0) == 0
    for bad in ("often", -1, float("nan"), float("inf"), None, [1]):
        with pytest.raises(
            InputError, match=r"^checkpoints is .*: give auto, off or a number of seconds ≥ 0\.$"
        ):
            parse_interval(bad)  # type: ignore[arg-type]

import math
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from noiselimit.report.charts import Scale, log_ticks, round_above, round_below, spread, ticks

finite = st.floats(-1e6, 1e6)


def test_scale_maps_the_ends_and_the_middle() -> None:
    scale = Scale(0.0, 2.0, 300.0, 100.0)
    assert [scale(0.0), scale(1.0), scale(2.0)] == [300.0, 200.0, 100.0]


def test_on_a_logarithmic_scale_equal_ratios_are_equally_far_apart() -> None:
    scale = Scale(1.0, 100.0, 300.0, 100.0, log=True)
    assert [scale(1.0), scale(10.0), scale(100.0)] == pytest.approx([300.0, 200.0, 100.0])


def test_shares_are_as_far_apart_as_the_ratio_of_what_they_lack_of_one() -> None:
    scale = Scale(0.0, 0.99, 300.0, 100.0, to_one=True)
    assert [scale(0.0), scale(0.9), scale(0.99)] == pytest.approx([300.0, 200.0, 100.0])
    assert scale(1.0) == scale(0.99), "no share is off the picture"


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [
        (0.004, 0.09, 8, [0.005, 0.01, 0.02, 0.05]),
        (1, 256, 8, [1, 2, 5, 10, 20, 50, 100, 200]),
        (1, 512, 6, [1, 3, 10, 30, 100, 300]),
        (0.001, 10, 6, [0.001, 0.01, 0.1, 1, 10]),
        (1e-9, 1e9, 4, [1e-9, 1e-4, 1e1, 1e6]),
    ],
)
def test_ticks_of_a_logarithmic_scale_are_round(
    low: float, high: float, most: int, expected: list[float]
) -> None:
    assert log_ticks(low, high, most) == expected


@given(st.floats(1e-6, 1e6), st.floats(1.1, 1e9), st.integers(1, 10))
def test_ticks_of_a_logarithmic_scale_are_few_and_inside(low: float, ratio: float, most: int) -> None:
    found = log_ticks(low, low * ratio, most)
    assert len(found) <= most
    assert all(low * (1 - 1e-8) <= tick <= low * ratio * (1 + 1e-8) for tick in found)
    assert all(a < b for a, b in pairwise(found))
    assert found or ratio < 10 * (1 + 1e-8)


@pytest.mark.parametrize(
    ("low", "high", "most", "whole", "expected"),
    [
        (0, 1, 6, False, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.6, 1, 6, False, [0.6, 0.7, 0.8, 0.9, 1.0]),
        (0, math.sqrt(2), 8, False, [0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4]),
        (1, 40, 6, True, [10, 20, 30, 40]),
        (1, 3, 6, True, [1, 2, 3]),
        (0.5, 1.5, 6, True, [1]),
        (3, 3, 6, False, []),
    ],
)
def test_ticks_are_round(low: float, high: float, most: int, whole: bool, expected: list[float]) -> None:
    assert ticks(low, high, most, whole) == expected


@given(finite, st.floats(1e-3, 1e6), st.integers(2, 10), st.booleans())
def test_ticks_are_few_inside_and_even(low: float, length: float, most: int, whole: bool) -> None:
    high = low + length
    found = ticks(low, high, most, whole)
    assert len(found) <= most
    assert found or whole
    slack = 1e-8 * length + 1e-8
    assert all(low - slack <= tick <= high + slack for tick in found)
    steps = [b - a for a, b in pairwise(found)]
    assert all(step == pytest.approx(steps[0], abs=1e-9 * max(1, abs(low))) for step in steps)
    if whole:
        assert all(tick == int(tick) for tick in found)


@given(st.lists(st.floats(0, 200), max_size=12))
def test_spread_labels_do_not_overlap_and_keep_their_order(positions: list[float]) -> None:
    moved = spread(positions, 15, 0, 200)
    assert len(moved) == len(positions)
    assert all(-1e-9 <= place <= 200 + 1e-9 for place in moved)
    ordered = sorted(moved)
    assert all(b - a >= 15 - 1e-9 for a, b in pairwise(ordered))
    for a, x in zip(positions, moved, strict=True):
        for b, y in zip(positions, moved, strict=True):
            assert not (a < b and x > y)


@given(st.lists(st.floats(0, 200), min_size=1, max_size=8))
def test_spread_leaves_alone_what_stands_apart(positions: list[float]) -> None:
    ordered = sorted(positions)
    assume(all(b - a >= 15.001 for a, b in pairwise(ordered)))
    assert spread(ordered, 15, 0, 200) == ordered


def test_spread_spaces_evenly_when_there_is_no_room() -> None:
    assert spread([50.0, 50.0, 50.0], 90, 0, 100) == [0, 50, 100]


@pytest.mark.parametrize(
    ("value", "below", "above"),
    [
        (1, 1, 1),
        (3, 2, 5),
        (7, 5, 10),
        (35_632, 20_000, 50_000),
        (50_000, 50_000, 50_000),
        (0.03, 0.02, 0.05),
    ],
)
def test_an_axis_may_end_at_a_round_number(value: float, below: float, above: float) -> None:
    assert (round_below(value), round_above(value)) == (below, above)

"""How many rows fit follows from what one and two need; a cohort is cut into equal pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.engine.retry import fitting, split_rows
from noiselimit.errors import Notice


@given(st.integers(0, 1000), st.integers(1, 1000), st.integers(1, 500), st.integers(0, 10**6))
def test_what_fits_fits_and_one_more_would_not(fixed: int, each: int, rows: int, free: int) -> None:
    most = fitting(fixed + each, fixed + 2 * each, rows, free)
    assert 1 <= most <= rows
    assert most == 1 or fixed + most * each <= free
    assert most == rows or fixed + (most + 1) * each > free


@given(st.integers(1, 60), st.integers(1, 60))
@pytest.mark.filterwarnings("ignore::noiselimit.errors.Notice")
def test_pieces_are_few_and_about_equal(rows: int, most: int) -> None:
    pieces = split_rows(range(rows), most)
    assert sorted(row for piece in pieces for row in piece) == list(range(rows))
    sizes = [len(piece) for piece in pieces]
    assert max(sizes) <= most
    assert max(sizes) - min(sizes) <= 1
    assert len(pieces) == -(-rows // most)


def test_a_split_is_said() -> None:
    with pytest.warns(Notice, match="10 runs do not fit .* in 3 cohorts of up to 4"):
        split_rows(range(10), 4)

"""The order of review: each row once, random checks mixed in, no class pair many times in a row."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.errors import InputError
from noiselimit.review.queue import CHECK_EVERY, FEWEST_CHECKS, ORDERS, Filter, Queue

CLASSES = tuple("abcde")


def queue(count: int, seed: int = 0, flagged: float = 0.3) -> Queue:
    generator = np.random.default_rng(seed)
    given = generator.integers(-1, 5, count)
    suggested = generator.integers(0, 5, count)
    return Queue(given, suggested, generator.random(count), generator.random(count) < flagged, CLASSES)


def listed(found: Queue, decided: set[int] | None = None, **wanted: object) -> tuple[list[int], set[int]]:
    """(rows, those that are random checks)."""
    count = len(found.given)
    done, none = np.isin(np.arange(count), list(decided or ())), np.zeros(count, bool)
    rows, checks = found.rows(Filter(**wanted), done, none, none)  # type: ignore[arg-type]
    return rows.tolist(), set(rows[checks].tolist())


@given(st.integers(1, 200), st.integers(0, 99), st.sampled_from(ORDERS), st.sets(st.integers(0, 199)))
def test_every_open_row_is_listed_once(count: int, seed: int, order: str, decided: set[int]) -> None:
    found = queue(count, seed)
    rows, checks = listed(found, decided, order=order)
    assert len(rows) == len(set(rows))
    assert set(found.flagged) - decided <= set(rows)
    assert not decided & set(rows)
    assert set(rows) - checks <= set(found.flagged)
    assert all(found.given[row] >= 0 for row in rows)
    places = [place for place, row in enumerate(rows) if row in checks]
    among = min((len(rows) - len(checks)) // (CHECK_EVERY - 1), len(places))
    assert places[:among] == [CHECK_EVERY * (number + 1) - 1 for number in range(among)]
    undecided = set(found.unflagged) - decided
    assert len(checks) >= min(FEWEST_CHECKS, len(undecided)) or not set(found.flagged) - decided
    # Checks are drawn in the random order of their group, except those that the order lists above.
    for group in (found.flagged, found.unflagged):
        drawn = [row for row in rows if row in checks and row in set(group)]
        rank = {row: place for place, row in enumerate(group)}
        assert [rank[row] for row in drawn] == sorted(rank[row] for row in drawn)


def test_orders() -> None:
    found = queue(3000)
    rows, checks = listed(found, order="probability")
    chosen = [found.probability[row] for row in rows if row not in checks]
    assert chosen == sorted(chosen, reverse=True)
    rows, checks = listed(found, order="diverse")
    pairs = [(found.given[row], found.suggested[row]) for row in rows if row not in checks]
    assert all(a != b for a, b in pairwise(pairs[:100]))
    rows, checks = listed(found, order="pairs")
    pairs = [(found.given[row], found.suggested[row]) for row in rows if row not in checks]
    assert sum(a != b for a, b in pairwise(pairs)) == len(set(pairs)) - 1
    assert pairs[0] == (found.pairs(1)[0]["given"], found.pairs(1)[0]["suggested"])


def test_filters() -> None:
    found = queue(500)
    rows, checks = listed(found, given=2, suggested=3, low=0.5, state="any", scope="all")
    assert not checks
    expected = (found.given == 2) & (found.suggested == 3) & (found.probability >= 0.5)
    assert sorted(rows) == np.flatnonzero(expected).tolist()
    assert listed(found, {7}, state="decided", scope="all")[0] == ([7] if found.given[7] >= 0 else [])
    labelled = int(np.flatnonzero(found.given >= 0)[0])
    assert labelled in listed(found, scope="all", search=str(labelled))[0]


@pytest.mark.parametrize("wrong", [{"order": "x"}, {"scope": "x"}, {"state": "x"}, {"low": 0.7, "high": 0.2}])
def test_bad_filters(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Filter(**wrong)  # type: ignore[arg-type]

"""Epoch times from reports: the last row ends an epoch, and the parts of a split cohort add up."""

from types import SimpleNamespace

import pytest

from noiselimit.bench.clock import EpochClock, epoch_seconds, parts_of


def test_an_epoch_ends_when_its_last_row_reports():
    assert epoch_seconds(10.0, {0: [12.0, 15.0], 1: [13.0, 14.0]}) == [3.0, 2.0]


def test_parts_of_a_split_cohort_add_up():
    first, second = {0: [2.0, 3.0], 1: [2.5, 3.5]}, {2: [5.0, 7.0]}
    assert epoch_seconds(0.0, first | second) == [2.5 + 1.5, 1.0 + 2.0]
    assert [len(part) for part in parts_of(first | second)] == [2, 1]


def test_blocks_side_by_side_are_one_part():
    assert len(parts_of({0: [1.0, 2.0, 3.0], 1: [2.9, 4.0, 5.0]})) == 1


def test_rows_that_stop_early_are_not_averaged_away():
    with pytest.raises(RuntimeError, match="same number of epochs"):
        epoch_seconds(0.0, {0: [1.0], 1: [1.0, 2.0]})


def test_the_clock_notes_epochs_and_not_the_ends_of_runs():
    times, shares = iter([0.0, 1.0, 3.0]), []
    clock = EpochClock(lambda: next(times), shares.append)
    for done, record in ((1, {"epoch": 1}), (2, {"epoch": 2}), (2, None)):
        clock(SimpleNamespace(done=done, total=2, spec=SimpleNamespace(hash="7"), record=record))
    assert clock.ends == {"7": [1.0, 3.0]}
    assert shares == [0.5, 1.0, 1.0]

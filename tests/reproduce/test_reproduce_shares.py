"""Whose seconds they were."""

import pytest

from noiselimit.reproduce.shares import FILE, Shares


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def at(clock, now):
    clock.now = now


def test_the_time_of_a_cohort_is_shared_out_without_rest(tmp_path, clock):
    shares = Shares(tmp_path, clock)
    at(clock, 6.0)
    for run in "abc":
        shares.hear(run)
    found = [shares.of_ended("a")]
    for run, now in (("b", 10.0), ("c", 11.0)):
        at(clock, now)
        found.append(shares.of_ended(run))
    assert found == [2.0, 4.0, 5.0]
    shares.save()
    assert not (tmp_path / FILE).exists()


def test_a_call_that_goes_on_counts_what_runs_had_and_nothing_twice(tmp_path, clock):
    first = Shares(tmp_path, clock)
    for run in "abcd":
        first.hear(run)
    at(clock, 8.0)
    ended = [first.of_ended("a"), first.of_ended("b")]
    at(clock, 20.0)
    first.save()  # interrupted
    at(clock, 1000.0)
    then = Shares(tmp_path, clock)
    for run in "cd":
        then.hear(run)
    at(clock, 1010.0)
    ended += [then.of_ended("c"), then.of_ended("d")]
    assert sum(ended) == pytest.approx(20 + 10)
    assert ended == pytest.approx([2.0, 2.0, 13.0, 13.0])


def test_long_epochs_are_shared_by_all_who_had_them(tmp_path, clock):
    shares = Shares(tmp_path, clock)
    at(clock, 60.0)  # longer than between two writings, which the first news brings
    for run in "ab":
        shares.hear(run)
    assert [shares.of_ended("a"), shares.of_ended("b")] == [30.0, 30.0]


def test_time_without_any_epoch_is_that_of_those_who_train_next(tmp_path, clock):
    first = Shares(tmp_path, clock)
    at(clock, 5.0)
    first.save()
    then = Shares(tmp_path, clock)
    at(clock, 7.0)
    assert then.of_ended("failed at once") == 7.0
    at(clock, 9.0)
    then.pause()
    assert then.of_ended("after that") == 0.0


def test_a_row_that_could_not_be_written_has_its_seconds_and_a_broken_file_none(tmp_path, clock):
    first = Shares(tmp_path, clock)
    at(clock, 5.0)
    first.of_ended("a")  # and then the process is killed
    assert Shares(tmp_path, clock).of_found("a") == 5.0
    for text in ("{", "[1]", '{"a": "b"}'):
        (tmp_path / FILE).write_text(text)
        assert Shares(tmp_path, clock).of_found("a") == 0.0

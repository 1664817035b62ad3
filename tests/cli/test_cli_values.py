"""What people type as values."""

import pytest

from noiselimit.cli.options import (
    LARGEST_SEED,
    any_number,
    columns,
    several,
    several_seeds,
    whole_number,
    whole_numbers,
)
from noiselimit.errors import InputError
from noiselimit.runs.spec import RunSpec


def test_blanks_do_not_matter():
    assert several("beta", " 1, 10") == ["1", "10"]
    assert whole_numbers("seed", "0, 3") == [0, 3]


@pytest.mark.parametrize("text", ["", " ", ",", "1,", ",1", "1,,2"])
def test_empty_items_are_refused(text):
    with pytest.raises(InputError, match=r"beta is .*: give a value, or several separated by commas\."):
        several("beta", text)


def test_columns_are_quoted_where_they_have_commas():
    assert columns("--ignore", None) == ()
    assert columns("--ignore", 'id, "name, first",a b') == ("id", "name, first", "a b")


@pytest.mark.parametrize("text", ["", ",", "a,", '"a', '"a"b', "a\nb"])
def test_what_are_no_columns(text):
    with pytest.raises(InputError, match=r"--ignore is (.|\n)*: give a column's name, or several"):
        columns("--ignore", text)


@pytest.mark.parametrize("text", ["x", "1.5", "1e3"])
def test_what_is_no_whole_number_is_refused(text):
    with pytest.raises(InputError, match=r"seed is .*: give a whole number"):
        whole_numbers("seed", text)


def test_single_numbers_are_refused_by_what_was_typed():
    assert (whole_number("epochs", " 15"), any_number("budget", "2.5")) == (15, 2.5)
    assert (whole_number("epochs", None), any_number("budget", None)) == (None, None)
    with pytest.raises(InputError, match=r"^epochs is 'abc': give a whole number\.$"):
        whole_number("epochs", "abc")
    with pytest.raises(InputError, match=r"^budget is '': give a number\.$"):
        any_number("budget", "")


def test_the_largest_seed_is_that_of_runs():
    assert several_seeds("seeds", f"0,{LARGEST_SEED}") == [0, LARGEST_SEED]
    assert RunSpec(seed=LARGEST_SEED).seed == LARGEST_SEED
    with pytest.raises(InputError):
        RunSpec(seed=LARGEST_SEED + 1)
    with pytest.raises(InputError, match=rf"^seeds is {2**63}: give whole numbers from 0 to {2**63 - 1}\.$"):
        several_seeds("seeds", str(LARGEST_SEED + 1))

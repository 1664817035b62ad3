"""What people type as values."""

import pytest

from noiselimit.cli.values import columns, several, whole_numbers
from noiselimit.errors import InputError


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

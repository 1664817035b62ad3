"""What people type as values."""

import pytest

from noiselimit.cli.values import several, whole_numbers
from noiselimit.errors import InputError


def test_blanks_do_not_matter():
    assert several("beta", " 1, 10") == ["1", "10"]
    assert whole_numbers("seed", "0, 3") == [0, 3]


@pytest.mark.parametrize("text", ["", " ", ",", "1,", ",1", "1,,2"])
def test_empty_items_are_refused(text):
    with pytest.raises(InputError, match=r"beta is .*: give a value, or several separated by commas\."):
        several("beta", text)


@pytest.mark.parametrize("text", ["x", "1.5", "1e3"])
def test_what_is_no_whole_number_is_refused(text):
    with pytest.raises(InputError, match=r"seed is .*: give a whole number"):
        whole_numbers("seed", text)

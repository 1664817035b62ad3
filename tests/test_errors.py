"""Errors are ValueErrors whose sentence names a remedy."""

import pytest

from noiselimit.errors import InputError, unknown


def test_an_input_error_is_a_value_error():
    assert issubclass(InputError, ValueError)


@pytest.mark.parametrize(
    ("given_name", "sentence"),
    [
        ("limit_l", "unknown method 'limit_l': did you mean 'limit-l'?"),
        ("zzz", "unknown method 'zzz': choose one of ce, limit-g, limit-l."),
    ],
)
def test_the_nearest_name_or_all_of_them(given_name, sentence):
    assert str(unknown("method", given_name, ["limit-l", "ce", "limit-g"])) == sentence

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


@pytest.mark.parametrize(
    ("given", "meant"),
    [("--epohcs", "--epochs"), ("--Epochs", "--epochs"), ("--batch_size", "--batch-size"), ("-out", "--out")],
)
def test_what_is_spelled_nearly_so_is_suggested(given, meant):
    known = ["--epochs", "--batch-size", "--out"]
    assert str(unknown("option", given, known)) == f"unknown option '{given}': did you mean '{meant}'?"


@pytest.mark.parametrize("given", ["--bogus", "--o", "--"])
def test_nothing_is_suggested_for_the_dashes_alone(given):
    assert str(unknown("option", given, ["--out", "--epochs"])) == (
        f"unknown option '{given}': choose one of --epochs, --out."
    )


def test_messages_steer_no_terminal_and_have_an_end() -> None:
    assert str(InputError("column '\x1b[2J\u202e\x9b' is empty.")) == "column '�[2J��' is empty."
    long = str(InputError(f"label '{'a' * 10**6}' is unknown; correct it."))
    assert len(long) < 1500
    assert long.startswith("label 'aaa")
    assert long.endswith("aaa' is unknown; correct it.")

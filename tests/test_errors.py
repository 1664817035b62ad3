import pytest

from noiselimit.errors import InputError, number, unknown


@pytest.mark.parametrize(
    ("given", "meant"),
    [("--epohcs", "--epochs"), ("--Epochs", "--epochs"), ("--batch_size", "--batch-size"), ("-out", "--out")],
)
def test_the_closest_name_is_suggested(given: str, meant: str) -> None:
    assert f"did you mean '{meant}'" in str(unknown("option", given, ["--epochs", "--batch-size", "--out"]))


@pytest.mark.parametrize("given", ["--bogus", "--o", "--", "zzz"])
def test_otherwise_all_names_are_listed(given: str) -> None:
    assert "--epochs, --out" in str(unknown("option", given, ["--out", "--epochs"]))


def test_messages_control_no_terminal_and_are_short() -> None:
    assert str(InputError("column '\x1b[2J\u202e\x9b' is empty.")) == "column '�[2J��' is empty."
    long = str(InputError(f"label '{'a' * 10**6}' is unknown; correct it."))
    assert len(long) < 1500
    assert long.startswith("label 'aaa")
    assert long.endswith("correct it.")


@pytest.mark.parametrize("bad", ["x", None, float("nan"), float("inf"), -1, 2])
def test_a_number_out_of_range_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match="share is"):
        number("share", bad, at_least=0.0, below=2.0)
    assert str(number("share", -0.0, at_least=0.0)) == "0.0"

from collections.abc import Callable

import pytest

from noiselimit.report import RunLine
from noiselimit.report.content import DASH, decimal, legal, percent, plain, run_name, shorten


@pytest.mark.parametrize("write", [percent, decimal, plain])
@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), float("-inf")])
def test_what_is_not_known_is_an_en_dash(write: Callable[[float | None], str], value: float | None) -> None:
    assert write(value) == DASH == "–"


def test_numbers() -> None:
    assert percent(0.98125) == "98.1\u00a0%"
    assert percent(0.4, 0) == "40\u00a0%"
    assert percent(0.0) == "0.0\u00a0%"
    assert decimal(0.9991) == "0.999"
    assert plain(10.0) == "10"
    assert plain(0.001) == "0.001"


def test_run_name() -> None:
    run = RunLine("limit-l", {"beta": 10.0, "learning_rate": 0.001}, 4)
    assert run_name(run) == "limit-l, β\u00a010, learning rate\u00a00.001"
    assert run_name(run, seed=True).endswith(", seed\u00a04")
    assert run_name(RunLine("limit-l", {"beta": 1.0}, 4), joined=" at ") == "limit-l at β\u00a01"
    assert run_name(RunLine("ce", {}, 4), joined=" at ") == "ce"


def test_shorten_counts_the_ellipsis() -> None:
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdefg", 6) == "abcde…"


def test_legal_replaces_only_what_cannot_be_written() -> None:
    assert legal("a\x00b\ud800c\x1b") == "a\ufffdb\ufffdc\ufffd"
    assert legal("β\t<é>\n😀") == "β\t<é>\n😀"

"""How numbers, names and results are written."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from noiselimit.report.content import (
    DASH,
    RunLine,
    Suspect,
    decimal,
    legal,
    percent,
    plain,
    result_sentence,
    run_name,
    shorten,
)
from tests.pages import run_line


@pytest.mark.parametrize("write", [percent, decimal, plain])
@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_unknown_numbers_are_a_dash(write: Callable[[float | None], str], value: float | None) -> None:
    assert write(value) == DASH


def test_numbers_and_texts() -> None:
    assert [percent(0.98125), percent(0.4, 0)] == ["98.1\u00a0%", "40\u00a0%"]
    assert [decimal(0.9991), plain(10.0), plain(0.001)] == ["0.999", "10", "0.001"]
    assert [shorten("abcdef", 6), shorten("abcdefg", 6)] == ["abcdef", "abcde…"]
    assert legal("a\x00b\ud800c\x1bβ\t<é>\n😀") == "a\ufffdb\ufffdc\ufffdβ\t<é>\n😀"


def test_run_name() -> None:
    run = run_line("limit-l", {"beta": 10.0, "learning_rate": 0.001}, 4)
    assert run_name(run) == "limit-l, β\u00a010, learning rate\u00a00.001"
    assert run_name(run, seed=True).endswith(", seed\u00a04")
    assert run_name(run_line("ce"), joined=" at ") == "ce"


@pytest.mark.parametrize(
    ("given", "suggested", "clean", "verdict"),
    [("1", "3", "3", "found"), ("1", "2", "3", "half"), ("3", "2", "3", "right"), ("1", "3", None, None)],
)
def test_verdict(given: str, suggested: str, clean: str | None, verdict: str | None) -> None:
    assert Suspect(0, given, suggested, 1.0, clean).verdict == verdict


def test_the_result_compares_the_chosen_run_with_cross_entropy(runs: list[RunLine]) -> None:
    result = result_sentence(runs, 0.4).replace("\u00a0", " ")
    for words in ("40 %", "limit-l at β 10 reaches 98.1 %", "cross-entropy ends at 67.2 %"):
        assert words in result
    second = [
        run_line("ce", seed=1, last_test_accuracy=0.652),
        run_line("limit-l", {"beta": 10.0}, 1, True, test_accuracy=0.961),
    ]
    means = result_sentence([*runs, *second, replace(runs[2], chosen=True)])
    assert "97.1" in means
    assert "66.2" in means
    assert "90.0" in result_sentence([replace(runs[0], chosen=True)])


def test_the_result_without_numbers() -> None:
    blank = [run_line("ce", last_test_accuracy=float("nan")), run_line("limit-l")]
    assert "limit-l" in result_sentence([*blank, replace(blank[1], chosen=True)])
    assert "2 runs" in result_sentence(blank)
    assert "0 runs" in result_sentence([])

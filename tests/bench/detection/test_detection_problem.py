"""Which labels are wrong is known to us and hidden from the tools."""

import numpy as np
import pytest

from noiselimit.bench.detection.made_data import MADE
from noiselimit.bench.detection.problem import Problem, check_noise, load_problem
from noiselimit.bench.detection.wanted import chosen_problems
from noiselimit.data.digits import digits
from noiselimit.errors import InputError


def test_noise_is_applied_and_clean_labels_are_hidden() -> None:
    problem = load_problem(Problem("digits", "uniform:0.4", 3))
    assert problem.data.examples.clean_labels is None
    assert problem.clean.tolist() == digits().examples.labels.tolist()
    assert 0.35 < problem.wrong.mean() < 0.45
    assert np.array_equal(problem.wrong, problem.data.examples.labels != problem.clean)
    again = load_problem(Problem("digits", "uniform:0.4", 3))
    assert np.array_equal(again.data.examples.labels, problem.data.examples.labels)


def test_next_is_the_class_behind() -> None:
    problem = load_problem(Problem("digits", "next:0.3", 0))
    given, clean = problem.data.examples.labels[problem.wrong], problem.clean[problem.wrong]
    assert np.array_equal(given, (clean + 1) % 10)
    assert 0.25 < problem.wrong.mean() < 0.35


def test_some_of_the_examples() -> None:
    whole = load_problem(Problem("digits", "uniform:0.2", 1))
    some = load_problem(Problem("digits", "uniform:0.2", 1, examples=100))
    assert len(some.clean) == 100
    others = load_problem(Problem("digits", "uniform:0.2", 2, examples=100))
    inputs = np.asarray(some.data.examples.inputs)
    assert not np.array_equal(inputs, np.asarray(others.data.examples.inputs))
    everything = np.asarray(whole.data.examples.inputs)
    places = [int(np.flatnonzero((everything == one).all((1, 2, 3)))[0]) for one in inputs]
    assert np.array_equal(whole.data.examples.labels[places], some.data.examples.labels)
    with pytest.raises(InputError, match=r"examples is 9999, but digits has 1797: give 2 to 1797\."):
        load_problem(Problem("digits", "none", 0, examples=9999))


def test_none_makes_no_label_wrong() -> None:
    assert not load_problem(Problem("digits", "none", 0)).wrong.any()


@pytest.mark.parametrize("text", ["next:", "next:x", "next:1.5", "uniform:2", "typo:0.1"])
def test_what_is_no_noise_is_said_early(text: str) -> None:
    with pytest.raises(InputError):
        check_noise(text)
    with pytest.raises(InputError):
        chosen_problems(["digits"], ["none", text], [0])


def test_data_that_are_made_here() -> None:
    problem = load_problem(Problem("overlapping", "uniform:0.1", 1))
    assert 0.07 < problem.wrong.mean() < 0.13
    assert not load_problem(Problem("overlapping", "none", 1)).wrong.any()
    other = load_problem(Problem("overlapping", "none", 2)).data.examples.inputs
    assert not np.array_equal(np.asarray(problem.data.examples.inputs), np.asarray(other))
    usual = chosen_problems(["wine", "shapes"], None, [0])
    assert [(each.data, each.noise, each.examples) for each in usual] == [
        ("wine", "uniform:0.1", None),
        ("wine", "none", None),
        ("shapes", "uniform:0.1", None),
        ("shapes", "none", None),
    ]
    for quick in chosen_problems(list(MADE), ["none"], [0], quick=True):
        assert len(load_problem(quick).clean) == quick.examples


def test_usual_problems() -> None:
    problems = chosen_problems(["digits", "mnist", "cifar10n"], None, [0, 1])
    assert [problem.noise for problem in problems if problem.data == "cifar10n"] == [
        "given:aggre",
        "given:aggre",
        "given:worst",
        "given:worst",
    ]
    assert {problem.examples for problem in problems if problem.data == "mnist"} == {10_000}
    assert len([problem for problem in problems if problem.data == "digits"]) == 10
    names = [problem.name for problem in problems]
    assert len(set(names)) == len(names)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-") for name in names)

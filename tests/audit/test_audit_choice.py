"""Runs that count: those not clearly worse than the best by noisy validation, and never failed ones."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from noiselimit.audit.diagnostics import select_runs
from noiselimit.errors import InputError
from noiselimit.runs.spec import RunSpec


def runs(*betas: float, failed: tuple[int, ...] = (), seeds: int = 1) -> Any:
    specs = [RunSpec(hyper={"beta": beta}, seed=seed) for beta in betas for seed in range(seeds)]
    return [
        SimpleNamespace(
            spec=spec,
            failed=i in failed,
            metrics={"failure": "the loss was not a finite number: lower the learning rate"},
        )
        for i, spec in enumerate(specs)
    ]


@pytest.mark.parametrize(
    ("accuracies", "validated", "counted"),
    [
        ([0.70, 0.68], 360, [True, True]),  # a standard error is 0.024
        ([0.70, 0.67], 360, [True, False]),
        ([0.60, 0.70], 360, [False, True]),
        ([0.70, 0.691], 200_000, [True, True]),  # certainly worse, and by too little to matter
        ([0.70, 0.688], 200_000, [True, False]),
        ([None, 0.3], 360, [False, True]),
        ([1.0, 1.0], 50, [True, True]),
    ],
)
def test_settings_near_the_best_count(
    accuracies: list[float | None], validated: int, counted: list[bool]
) -> None:
    assert select_runs(runs(3, 10), accuracies, validated) == counted


@pytest.mark.parametrize(
    ("accuracies", "counted"),
    [
        ([0.70, 0.71], [True, False]),
        ([0.60, 0.70], [False, True]),
        ([None, 0.70], [False, True]),
        ([0.70, 0.70, 0.69], [True, False, True]),
    ],
)
def test_what_started_from_a_ce_run_counts_where_nothing_else_learned_as_much(
    accuracies: list[float | None], counted: list[bool]
) -> None:
    own = runs(*range(1, len(accuracies) + 1))
    own[1].spec = replace(own[1].spec, method="limit-l+init", parent="0" * 16)
    assert select_runs(own, accuracies, 360) == counted


def test_seeds_of_a_setting_count_together_but_for_those_that_failed() -> None:
    accuracies = [0.70, 0.60, 0.66, 0.638, 0.5, None]
    assert select_runs(runs(3, 10, 30, seeds=2), accuracies, 1000) == [True] * 4 + [False] * 2
    assert select_runs(runs(3, 10, seeds=2), [0.7, None, 0.7, 0.7], 1000) == [True, False, True, True]


def test_more_seeds_make_the_choice_sharper() -> None:
    assert select_runs(runs(3, 10), [0.70, 0.65], 40) == [True, True]
    assert select_runs(runs(3, 10, seeds=4), [0.70] * 4 + [0.65] * 4, 40) == [True] * 4 + [False] * 4


@given(st.lists(st.none() | st.floats(0, 1), min_size=1, max_size=6), st.integers(1, 10**6), st.randoms())
def test_the_best_counts_whatever_the_order(
    accuracies: list[float | None], validated: int, random: Any
) -> None:
    assume(any(accuracy is not None for accuracy in accuracies))
    own = runs(*range(1, len(accuracies) + 1))
    counted = select_runs(own, accuracies, validated)
    known = [accuracy for accuracy in accuracies if accuracy is not None]
    for accuracy, counts in zip(accuracies, counted, strict=True):
        assert counts or accuracy is None or accuracy < max(known) - 0.0099
        assert not counts or accuracy is not None
    order = list(range(len(own)))
    random.shuffle(order)
    again = select_runs([own[i] for i in order], [accuracies[i] for i in order], validated)
    assert again == [counted[i] for i in order]


def test_nothing_left_to_count() -> None:
    with pytest.raises(InputError, match="broke down in every run of the audit, because the loss was not"):
        select_runs(runs(3, 10, failed=(0, 1)), [None, None], 100)

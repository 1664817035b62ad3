"""Checks of the data, the selection of runs, and whether they learned."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from noiselimit.audit.diagnostics import (
    check_data,
    check_learning,
    held_out_agreement,
    select_runs,
)
from noiselimit.audit.noise_rate import Agreement, agreement
from noiselimit.data.examples import DataSet, make_examples, without_labels
from noiselimit.engine.preparation import split_examples
from noiselimit.errors import InputError
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RunSpec
from noiselimit.training import train

GOOD = Agreement(0.9, 0.33, 100)
SLOWLY = (0.3, 0.4, 0.5, 0.6, 0.7, 0.7, 0.8, 0.8)


def pets(labels: list[str]) -> DataSet:
    return DataSet("pets", make_examples(np.zeros((len(labels), 2)), labels))


def test_labels_that_look_like_identifiers_are_refused() -> None:
    many = pets([f"id{number % 11}" for number in range(109)])
    with pytest.raises(InputError, match="--many-classes"):
        check_data(many)
    assert check_data(many, many_classes=True) is many
    enough = pets([f"id{number % 11}" for number in range(110)])
    assert check_data(enough) is enough
    with pytest.raises(InputError, match="109 labels"):
        check_data(DataSet("pets", without_labels(enough.examples, np.arange(110) == 3)))
    two = pets(["a", "b", "a", "b"])
    assert check_data(two) is two


def test_classes_with_one_example_are_noted() -> None:
    noted = check_data(pets(["cat"] * 20 + ["catt"] + ["dog"] * 20))
    assert "'catt' in row 20" in noted.notes[0]


def fake_runs(*betas: float, failed: tuple[int, ...] = (), seeds: int = 1) -> Any:
    specs = [RunSpec(hyper={"beta": beta}, seed=seed) for beta in betas for seed in range(seeds)]
    return [
        SimpleNamespace(spec=spec, failed=i in failed, metrics={"failure": "the loss is NaN"})
        for i, spec in enumerate(specs)
    ]


@pytest.mark.parametrize(
    ("accuracies", "validated", "counted"),
    [
        ([0.70, 0.68], 360, [True, True]),  # a standard error is 0.024
        ([0.70, 0.67], 360, [True, False]),
        ([0.60, 0.70], 360, [False, True]),
        ([0.70, 0.691], 200_000, [True, True]),  # certainly worse, but too little to matter
        ([0.70, 0.688], 200_000, [True, False]),
        ([None, 0.3], 360, [False, True]),
    ],
)
def test_settings_near_the_best_count(
    accuracies: list[float | None], validated: int, counted: list[bool]
) -> None:
    assert select_runs(fake_runs(3, 10), accuracies, validated) == counted


@pytest.mark.parametrize(
    ("accuracies", "counted"),
    [([0.70, 0.71], [True, False]), ([0.60, 0.70], [False, True]), ([None, 0.70], [False, True])],
)
def test_runs_that_started_from_ce_count_only_if_no_others_do(
    accuracies: list[float | None], counted: list[bool]
) -> None:
    runs = fake_runs(1, 2)
    runs[1].spec = replace(runs[1].spec, method="limit-l+init", parent="0" * 16)
    assert select_runs(runs, accuracies, 360) == counted


def test_seeds_of_a_setting_count_together_except_failed_ones() -> None:
    accuracies = [0.70, 0.60, 0.66, 0.638, 0.5, None]
    assert select_runs(fake_runs(3, 10, 30, seeds=2), accuracies, 1000) == [True] * 4 + [False] * 2
    assert select_runs(fake_runs(3, 10, seeds=2), [0.7, None, 0.7, 0.7], 1000) == [True, False, True, True]
    assert select_runs(fake_runs(3, 10, seeds=4), [0.70] * 4 + [0.65] * 4, 40) == [True] * 4 + [False] * 4
    with pytest.raises(InputError, match="the loss is NaN"):
        select_runs(fake_runs(3, 10, failed=(0, 1)), [None, None], 100)


@given(st.lists(st.none() | st.floats(0, 1), min_size=1, max_size=6), st.integers(1, 10**6), st.randoms())
def test_the_best_counts_whatever_the_order(
    accuracies: list[float | None], validated: int, random: Any
) -> None:
    assume(any(accuracy is not None for accuracy in accuracies))
    runs = fake_runs(*range(1, len(accuracies) + 1))
    counted = select_runs(runs, accuracies, validated)
    best = max(accuracy for accuracy in accuracies if accuracy is not None)
    for accuracy, counts in zip(accuracies, counted, strict=True):
        assert counts or accuracy is None or accuracy < best - 0.0099
        assert not counts or accuracy is not None
    order = list(range(len(runs)))
    random.shuffle(order)
    again = select_runs([runs[i] for i in order], [accuracies[i] for i in order], validated)
    assert again == [counted[i] for i in order]


def test_held_out_agreement_uses_the_averaged_probabilities(blobs: DataSet) -> None:
    (run,) = train(RunSpec("limit-l", epochs=6, batch_size=32, test_share=0.0), blobs, averaged=True)
    rows = split_examples(151, 0).validation
    assert run.averaged is not None
    assert run.averaged.predictor is not None
    predicted = (run.averaged.classifier + run.averaged.predictor)[rows].argmax(1)
    labels = blobs.examples.labels
    assert held_out_agreement(run, labels, rows) == agreement(predicted, labels[rows], 3)


@pytest.fixture(scope="module")
def run(blobs: DataSet) -> Run:
    return train(RunSpec("limit-l", epochs=1), blobs)[0]


def that_learned(run: Run, training: tuple[float, ...], held_out: tuple[float, ...] | None = None) -> Run:
    curves = zip(training, held_out or training, strict=True)
    history = [{"train_accuracy": one, "validation_accuracy": other} for one, other in curves]
    return replace(run, history=history)


@pytest.mark.parametrize(
    ("agreement", "enough"),
    [
        (Agreement(12 / 16, 0.5, 16), True),
        (Agreement(11 / 16, 0.5, 16), False),
        (Agreement(6 / 6, 0.5, 6), True),  # few, but all of them
        (Agreement(0.56, 0.5, 60), False),
        (Agreement(0.56, 0.5, 2000), True),
        (Agreement(0.52, 0.5, 10**6), False),  # significant, but next to nothing
        (Agreement(0.2, 0.1, 360), True),  # the best possible with 80 % of ten classes wrong
        (Agreement(0.98, 0.905, 200), True),  # a rare class, mostly recognised
        (Agreement(0.95, 0.95, 10**6), False),
        (Agreement(1.0, 1.0, 50), False),
        (None, False),
    ],
)
def test_agreement_must_be_better_than_chance(run: Run, agreement: Agreement | None, enough: bool) -> None:
    warning, note = check_learning([run], agreement)
    assert note is None
    assert (warning is None) == enough


def test_notes_tell_learning_from_memorising(run: Run) -> None:
    def note(training: tuple[float, ...], held_out: tuple[float, ...] | None = None) -> str:
        warning, note = check_learning([that_learned(run, training, held_out)], GOOD)
        assert warning is None
        return note or ""

    assert "still learning" in note(SLOWLY)
    assert not note((0.3, 0.6, 0.7, 0.75, 0.78, 0.8, 0.82, 0.83))
    assert not note((0.1, 0.9, 0.95))  # too short to tell
    for held_out in ((0.7, 0.7), (0.7, 0.74), (0.75, 0.6)):
        assert "memorised" in note(SLOWLY, (*SLOWLY[:4], *np.repeat(held_out, 2).tolist()))
    slowly, flat = (0.5, 0.55, 0.6, 0.63, 0.65, 0.65, 0.68, 0.68), (0.5,) * 6 + (0.49,) * 2
    assert "memorised" in note(slowly, flat)
    assert not note(slowly)


def test_the_run_with_the_best_validation_decides(run: Run) -> None:
    slow, quick = that_learned(run, SLOWLY), that_learned(run, (0.9,) * 8)
    assert check_learning([slow, quick], GOOD) == check_learning([quick, slow], GOOD) == (None, None)

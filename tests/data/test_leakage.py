"""Columns that give labels away or number the rows are noted, and ordinary measurements are not."""

import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from noiselimit.data.fitting import numbers_rows
from noiselimit.data.leakage import by_drop, by_option, column_notes, leaks_label

GENERATOR = np.random.default_rng(0)
ROWS = 300
LABELS = GENERATOR.integers(0, 3, ROWS)
LETTERS = np.array(["a", "b", "c"])[LABELS]
PATIENTS = np.repeat(np.arange(60), 5)
OF_PATIENTS = GENERATOR.integers(0, 2, 60)[PATIENTS]


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_measurements_are_not_suspicious(name):
    data = getattr(datasets, f"load_{name}")(as_frame=True)
    assert column_notes(data.data, data.target.to_numpy(), name, by_option) == ()


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (LABELS, LABELS),
        (7.5 - LABELS, LABELS),
        (LETTERS, LABELS),
        (pd.Categorical(LETTERS), LABELS),
        (np.where(LABELS == 1, None, LETTERS), LABELS),
        (LABELS == 1, (LABELS == 1).astype(np.int64)),
        (2 * LABELS + GENERATOR.integers(0, 2, ROWS), LABELS),
        (PATIENTS, OF_PATIENTS),
        (np.arange(1000) < 10, (np.arange(1000) < 10).astype(np.int64)),
    ],
    ids=["copy", "code", "names", "categories", "empty", "truth", "finer", "patients", "rare class"],
)
def test_values_that_occur_with_one_label_only(values, labels):
    assert leaks_label(pd.Series(values), labels)
    changed = labels.copy()
    changed[-1] = (changed[-1] + 1) % 2
    assert not leaks_label(pd.Series(values), changed)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (GENERATOR.normal(size=ROWS), LABELS),
        (np.arange(ROWS), LABELS),
        (np.zeros(ROWS), LABELS),
        (np.arange(12) % 2, np.arange(12) % 2),
        (np.where(np.arange(ROWS) < 290, np.arange(ROWS) % 20, np.arange(ROWS)), np.arange(ROWS) >= 290),
    ],
    ids=["unique", "row numbers", "constant", "few rows", "rare class of unique values"],
)
def test_values_that_may_do_so_by_chance(values, labels):
    assert not leaks_label(pd.Series(values), labels.astype(np.int64))


def test_rows_without_a_label_do_not_count():
    labels = LABELS.copy()
    labels[:4] = -1
    assert leaks_label(pd.Series(np.r_[[2, 1, 0, 1], LABELS[4:]]), labels)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(50),
        np.arange(50.0)[::-1] * 3 + 10**9,
        np.random.default_rng(1).permutation(50) + 10**12,
        np.delete(np.random.default_rng(1).permutation(54), [3, 9, 27, 40]),
        pd.array(range(50), "Int64"),
    ],
    ids=["rows", "steps", "shuffled", "gaps", "nullable"],
)
def test_identifiers(values):
    assert numbers_rows(pd.Series(values))
    assert not numbers_rows(pd.Series(values)[:19])
    assert not numbers_rows(pd.concat([pd.Series(values), pd.Series(values)[:1]], ignore_index=True))


@pytest.mark.parametrize(
    "values",
    [
        np.arange(50) + 0.5,
        np.random.default_rng(1).normal(size=50),
        np.random.default_rng(1).choice(10**6, 50, replace=False),
        np.arange(50) // 2,
    ],
    ids=["halves", "measured", "large whole numbers", "twice"],
)
def test_columns_that_are_not_identifiers(values):
    assert not numbers_rows(pd.Series(values))


def test_notes_name_the_columns_and_the_remedy():
    frame = pd.DataFrame({"x": GENERATOR.normal(size=ROWS), "my code": LABELS})
    (telling,) = column_notes(frame, LABELS, "t.csv", by_option)
    assert telling.endswith("--ignore 'my code'.")
    (note,) = column_notes(pd.DataFrame({"a\x1b[31m": LABELS}), LABELS, "t.csv", by_option)
    assert note.isprintable()  # a name cannot steer a terminal
    (telling,) = column_notes(frame.assign(copied=LETTERS), LABELS, "X", by_drop)
    assert telling.endswith("X.drop(columns=['my code', 'copied']).")


@pytest.mark.parametrize(
    ("names", "advice"), [(["id", "it's"], "id,it's"), (["a,b"], "--ignore"), ([" a"], "--ignore")]
)
def test_the_advice_can_be_typed(names, advice):
    assert shlex.split(by_option(names))[-1] == advice

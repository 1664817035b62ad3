"""Judges: which judge what, and that none has seen the label that it judges."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiselimit import load_data
from noiselimit.audit import judges
from noiselimit.audit.judges import judge
from noiselimit.data.examples import DataSet, make_examples, without_labels
from noiselimit.data.reading import Reading

ALL = ["neighbours", "forest", "logistic regression", "boosting"]


def clouds(rows: int = 90, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels of Gaussians that overlap a little."""
    generator = np.random.default_rng(seed)
    labels = np.arange(rows) % classes
    return 2.5 * np.eye(classes)[labels] + generator.normal(size=(rows, classes)), labels


def data_set(inputs: np.ndarray, labels: np.ndarray) -> DataSet:
    return DataSet("clouds", make_examples(inputs, labels))


def test_every_judge_gives_probabilities_that_are_mostly_right() -> None:
    inputs, labels = clouds()
    found = judge(data_set(inputs, labels), threads=1)
    assert list(found) == ALL
    for probabilities in found.values():
        np.testing.assert_allclose(probabilities.sum(1), 1, atol=1e-5)
        assert (probabilities.argmax(1) == labels).mean() > 0.8


@pytest.mark.parametrize("name", ["neighbours", "forest"])
def test_a_label_does_not_change_how_it_is_judged(name: str) -> None:
    inputs, labels = clouds()
    other = labels.copy()
    other[7] = (other[7] + 1) % 3
    first, second = (judge(data_set(inputs, each), threads=1)[name] for each in (labels, other))
    np.testing.assert_array_equal(first[7], second[7])
    assert (first != second).any()


def test_folds_hold_every_label_out_once() -> None:
    inputs, labels = clouds(33)
    task = judges.Task(inputs.astype(np.float32), labels, 3, 0, fast=False, rows=33)
    folds = list(judges._folds(task))
    assert sorted(np.concatenate([held_out for _, held_out in folds])) == list(range(33))
    assert all(not np.intersect1d(train, held_out).size for train, held_out in folds)


def test_results_do_not_depend_on_threads_and_fast_leaves_boosting_out() -> None:
    data = data_set(*clouds())
    one, two, fast = judge(data, threads=1), judge(data, threads=2), judge(data, threads=1, fast=True)
    for name, probabilities in one.items():
        np.testing.assert_array_equal(two[name], probabilities)
    assert list(fast) == ALL[:-1]


def test_rows_without_a_label_are_judged_by_the_others() -> None:
    inputs, labels = clouds()
    missing = np.arange(90) % 9 == 4
    data = DataSet("gappy", without_labels(make_examples(inputs, labels), missing))
    for probabilities in judge(data, threads=1).values():
        assert (probabilities[missing].argmax(1) == labels[missing]).mean() > 0.6


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=4, max_size=30), st.integers(0, 2**20))
def test_any_labels_can_be_judged(labels: list[int], seed: int) -> None:
    given_labels = np.unique([0, 1, *labels], return_inverse=True)[1]
    inputs = np.random.default_rng(seed).normal(size=(len(given_labels), 2))
    for probabilities in judge(data_set(inputs, given_labels), threads=1, fast=True).values():
        assert np.isfinite(probabilities).all()


def test_large_images_are_judged_by_networks_alone() -> None:
    images = np.zeros((20, 3, 32, 32), np.uint8)
    assert judge(DataSet("images", make_examples(images, np.arange(20) % 2))) == {}


def test_vectors_in_a_file_are_judged_by_models_of_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, labels = clouds(240)
    pd.DataFrame(inputs, columns=["a", "b", "c"]).assign(label=labels).to_parquet(tmp_path / "data.parquet")
    data = load_data(tmp_path / "data.parquet", reading=Reading(stream="on"))
    whole = judge(replace(data, examples=replace(data.examples, inputs=data.examples.inputs[:])), threads=1)
    found = judge(data, threads=1, folder=tmp_path / "all")
    assert list(found) == ALL
    for name in ALL:
        np.testing.assert_array_equal(found[name][:], whole[name])
    monkeypatch.setattr(judges, "SAMPLE", 120)
    found = judge(data, threads=1, folder=tmp_path / "sample")
    for name in ALL:
        np.testing.assert_allclose(found[name][:].sum(1), 1, atol=1e-5)
        assert (found[name][:].argmax(1) == labels).mean() > 0.8
    monkeypatch.setattr(judges, "_forest", None)  # not called again
    again = judge(data, threads=1, folder=tmp_path / "sample")
    np.testing.assert_array_equal(again["forest"][:], found["forest"][:])

"""`find_label_issues(X, y)`: training on a user's arrays, with labels of any type."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from PIL import Image

from noiselimit import InputError, find_label_issues
from noiselimit.audit.find import prepare_data
from noiselimit.audit.plan import AuditPlan
from noiselimit.data.examples import DataSet
from noiselimit.data.pictures import stack_pictures
from noiselimit.errors import Notice

QUICK = AuditPlan(betas=(3.0,), epochs=12, batch_size=32)
KINDS = ["pear", "apple", "fig"]


def noisy(blobs: DataSet) -> tuple[Any, Any, Any]:
    """Inputs, given labels, and the rows of wrong ones."""
    labels = blobs.examples.labels.copy()
    wrong = np.arange(0, len(labels), 15)
    labels[wrong] = (labels[wrong] + 1) % 3
    return np.asarray(blobs.examples.inputs), labels, wrong


def test_wrong_labels_are_found_with_their_names(blobs: DataSet) -> None:
    inputs, labels, wrong = noisy(blobs)
    names = np.array(KINDS)[labels]
    table = find_label_issues(inputs, names, plan=AuditPlan(epochs=20, batch_size=32))
    assert list(table["given_label"]) == list(names)
    worst = table["label_quality"].nsmallest(len(wrong)).index
    assert np.isin(worst, wrong).mean() > 0.7
    assert table["is_label_issue"].drop(wrong).mean() < 0.05
    clean = np.array(KINDS)[blobs.examples.labels]
    assert (table["predicted_label"][wrong] == clean[wrong]).mean() > 0.8
    assert find_label_issues(inputs, names, plan=QUICK, budget=5)["is_label_issue"].sum() == 5


def test_the_type_of_labels_and_inputs_does_not_matter(blobs: DataSet) -> None:
    inputs, labels, _ = noisy(blobs)
    plain = find_label_issues(inputs, labels, plan=QUICK)
    shifted = find_label_issues(inputs, (10 * labels - 10).tolist(), plan=QUICK)
    assert set(shifted["given_label"]) == {-10, 0, 10}
    np.testing.assert_array_equal(shifted["gap"], plain["gap"])
    for same in (
        DataSet("blobs", blobs.examples.__class__(inputs, labels, blobs.examples.class_names)),
        (inputs, labels),
    ):
        np.testing.assert_array_equal(find_label_issues(same, plan=QUICK)["gap"], plain["gap"])
    assert find_label_issues(inputs, labels == 0, plan=QUICK)["given_label"].dtype == bool
    frame = pd.DataFrame(inputs, columns=list("abcde"), index=np.arange(len(labels))[::-1])
    table = find_label_issues(frame, pd.Series(labels, index=frame.index), plan=QUICK)
    np.testing.assert_array_equal(table["gap"], plain["gap"])
    assert table["given_label"].tolist() == labels.tolist()
    assert table.index.equals(frame.index)
    again = find_label_issues(inputs, pd.DataFrame({"y": labels}, index=frame.index), plan=QUICK)
    pd.testing.assert_frame_equal(again, table)


def test_seed_and_fast(blobs: DataSet) -> None:
    inputs, labels, _ = noisy(blobs)
    first, again, other = (find_label_issues(inputs, labels, plan=QUICK, seed=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert np.abs(first["gap"] - other["gap"]).max() > 1e-3
    assert find_label_issues(inputs[:40], labels[:40], fast=True, threads=1)["gap"].notna().all()


@pytest.mark.parametrize("missing", [None, np.nan, ""])
def test_missing_labels_are_listed_and_predicted(blobs: DataSet, missing: Any) -> None:
    inputs, labels, _ = noisy(blobs)
    named: list[Any] = [KINDS[label] for label in labels]
    named[7] = named[8] = missing
    with pytest.warns(Notice, match=r"rows 7, 8\."):
        table = find_label_issues(inputs, named, plan=QUICK)
    assert table["predicted_label"][[7, 8]].tolist() == [KINDS[label] for label in blobs.examples.labels[7:9]]
    assert not table["is_label_issue"][[7, 8]].any()
    assert table["gap"][[7, 8]].isna().all()


def test_random_labels_are_not_flagged_unless_asked_for() -> None:
    generator = np.random.default_rng(0)
    inputs, labels = generator.normal(size=(100, 3)), generator.integers(0, 2, 100)
    with pytest.warns(Notice, match="--learning-rate") as caught:
        table = find_label_issues(inputs, labels, plan=QUICK)
    assert caught[0].filename == __file__
    assert not table["is_label_issue"].any()
    assert table.attrs == {
        **dict.fromkeys(("wrong_labels", "wrong_share", "interval", "known_from", "note")),
        "warning": str(caught[0].message),
    }
    with pytest.warns(Notice, match="--learning-rate"):
        asked = find_label_issues(inputs, labels, plan=QUICK, budget=7)
    assert asked["is_label_issue"].sum() == 7
    assert asked.attrs["wrong_labels"] is None


def test_pictures_of_any_size_are_audited_on_features() -> None:
    generator = np.random.default_rng(5)
    labels = np.arange(120) % 2
    pictures = [
        Image.fromarray(generator.integers(0, 99, (*generator.integers(32, 50, 2), 3), np.uint8))
        if label
        else Image.new("RGB", (40, 33), tuple(generator.integers(0, 256, 3).tolist()))
        for label in labels
    ]
    given = labels.copy()
    given[:3] = 1 - given[:3]
    table = find_label_issues(pictures, given, plan=QUICK, budget=3)
    assert np.flatnonzero(table["is_label_issue"]).tolist() == [0, 1, 2]
    stacked = stack_pictures(pictures, 160)
    same = find_label_issues(stacked, given, plan=QUICK, budget=3, features="efficientnet-lite0")
    np.testing.assert_array_equal(same["gap"], table["gap"])


def test_notes_about_the_data_are_notices(blobs: DataSet) -> None:
    inputs, labels, _ = noisy(blobs)
    single = labels.copy()
    single[12] = 3
    with pytest.warns(Notice, match="single example"):
        find_label_issues(inputs, single, plan=QUICK)
    with pytest.raises(InputError, match="identifier"):
        find_label_issues(inputs, np.arange(len(labels)) // 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        table = find_label_issues(inputs, np.arange(len(labels)) // 3, many_classes=True, plan=QUICK)
    assert len(table) == len(labels)
    frame = pd.DataFrame(inputs, columns=list("abcde")).assign(code=labels)
    with pytest.warns(Notice, match="'code'"):
        find_label_issues(frame, labels, plan=QUICK)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "either"),
        ({"X": 1, "labels": 1}, "either"),
        ({"y": [0, 1], "pred_probs": 1}, "either"),
        ({"labels": [0, 1]}, "either"),
        ({"y": [0, 1]}, "either"),
        ({"X": np.eye(2)}, "either"),
        ({"labels": [0, 1], "pred_probs": np.eye(2), "seed": 0}, "seed"),
        ({"labels": [0, 1], "pred_probs": np.eye(2), "features": "none"}, "features"),
        ({"X": np.eye(2), "y": [0, 1], "plan": QUICK, "fast": True}, "plan and fast"),
        ({"X": np.eye(4)[[0, 1] * 4], "y": [0, 1] * 4, "seed": -1}, "seed is -1"),
        ({"X": np.eye(4)[[0, 1] * 4], "y": [0.5] * 8}, r"0\.5"),
        ({"X": np.ones((9, 2)), "y": ["a"] * 9}, "one class"),
        ({"X": np.ones((9, 2)), "y": [0, 1] * 3}, "9 inputs but 6 labels"),
        ({"X": np.ones((3, 2)), "y": np.eye(3)}, r"find_label_issues\(labels=\.\.\., pred_probs=\.\.\.\)"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        find_label_issues(**arguments)


def test_labels_and_probabilities_may_come_first_and_keep_their_index() -> None:
    labels = pd.DataFrame({"label": np.arange(60) % 3}, index=np.arange(60) + 100)
    p = 0.1 + 0.7 * np.eye(3)[np.roll(labels["label"], 1)]
    p[4:] = 0.1 + 0.7 * np.eye(3)[labels["label"]][4:]
    table = find_label_issues(labels, p)
    assert table.index.equals(labels.index)
    pd.testing.assert_frame_equal(table, find_label_issues(labels=labels["label"], pred_probs=p))
    assert np.flatnonzero(table["is_label_issue"]).tolist() == [0, 1, 2, 3]
    plain = table.reset_index(drop=True)
    given = labels["label"].tolist()
    for first, second in ((given, p.tolist()), (pl.DataFrame({"label": given}), pl.DataFrame(p))):
        pd.testing.assert_frame_equal(find_label_issues(first, second), plain, check_dtype=False)
    pd.testing.assert_frame_equal(find_label_issues(labels, pred_probs=p), table)


@pytest.mark.parametrize("categories", [None, ["c", "a", "b"]])
def test_columns_named_after_the_classes_may_be_in_any_order(categories: list[str] | None) -> None:
    names = np.array(["a", "b", "c"])[np.arange(60) % 3]
    p = pd.DataFrame(0.1 + 0.7 * np.eye(3)[np.arange(60) % 3], columns=["a", "b", "c"])
    labels = names if categories is None else pd.Categorical(names, categories)
    assert find_label_issues(labels, p[["b", "c", "a"]]).attrs["wrong_labels"] == 0


def test_an_index_in_another_order_is_refused() -> None:
    frame = pd.DataFrame({"x": np.arange(60.0), "z": np.arange(60.0) % 7})
    labels = pd.Series(np.arange(60) % 2)[::-1]
    with pytest.raises(InputError, match="reindex"):
        find_label_issues(frame, labels)


def test_features_of_text_need_text(blobs: DataSet) -> None:
    with pytest.raises(InputError, match="no text"):
        find_label_issues(*noisy(blobs)[:2], features="tf-idf")


def test_class_names_keep_their_type() -> None:
    for labels, names in (
        (["b", "a", None, "b"], ["a", "b"]),
        (np.array([7, -1, 7, 7]), [-1, 7]),
        (pd.Series([1.0, np.nan, 2.0, 1.0]), [1, 2]),
        (pd.Series(["x", "y", "x", "x"], dtype="category"), ["x", "y"]),
        (["2", "10", "2", "2"], ["10", "2"]),
    ):
        _, found = prepare_data(np.ones((4, 2)), labels)
        assert found.names is not None
        assert found.names.tolist() == names


@given(
    st.lists(st.none() | st.sampled_from(["a", "bc", "Ü", "0"]), min_size=4, max_size=12)
    | st.lists(st.none() | st.integers(-9, 9), min_size=4, max_size=12)
)
def test_labels_survive_a_round_trip(labels: list[Any]) -> None:
    known = [label for label in labels if label is not None]
    assume(1 < len(set(known)) < len(known))
    _, found = prepare_data(np.ones((len(labels), 2)), labels)
    assert found.missing.tolist() == [label is None for label in labels]
    assert found.to_names(found.labels[~found.missing]).tolist() == known

"""`find_label_issues(X, y)`: trained on anybody's arrays, with labels as they were given."""

import inspect
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from noiselimit import InputError, find_label_issues
from noiselimit.audit.plan import AuditPlan
from noiselimit.audit.validation import prepare_data
from noiselimit.data.examples import DataSet
from noiselimit.errors import Notice

QUICK = AuditPlan(betas=(3.0,), epochs=12, batch_size=32)
KINDS = ["pear", "apple", "fig"]


def spoilt(blobs: DataSet) -> tuple[Any, Any, Any]:
    """(inputs, given labels, rows of wrong ones)."""
    labels = blobs.examples.labels.copy()
    wrong = np.arange(0, len(labels), 15)
    labels[wrong] = (labels[wrong] + 1) % 3
    return np.asarray(blobs.examples.inputs), labels, wrong


def test_wrong_labels_are_found_under_the_names_they_were_given(blobs: DataSet) -> None:
    inputs, labels, wrong = spoilt(blobs)
    names = np.array(KINDS)[labels]
    table = find_label_issues(inputs, names, plan=QUICK)
    assert list(table.columns) == list(
        find_label_issues(labels=[0, 1, 0], pred_probs=np.eye(2)[[0, 1, 1]]).columns
    )
    assert list(table["given_label"]) == list(names)
    assert table["is_label_issue"][wrong].mean() > 0.8
    assert table["is_label_issue"].drop(wrong).mean() < 0.05
    right = np.array(KINDS)[blobs.examples.labels]
    assert (table["predicted_label"][wrong] == right[wrong]).mean() > 0.8
    assert find_label_issues(inputs, names, plan=QUICK, budget=5)["is_label_issue"].sum() == 5


def test_the_kind_of_labels_does_not_matter(blobs: DataSet) -> None:
    inputs, labels, _ = spoilt(blobs)
    plain = find_label_issues(inputs, labels, plan=QUICK)
    shifted = find_label_issues(inputs, (10 * labels - 10).tolist(), plan=QUICK)
    assert set(shifted["given_label"]) == {-10, 0, 10}
    np.testing.assert_array_equal(shifted["gap"], plain["gap"])
    for same in (
        DataSet("blobs", blobs.examples.__class__(inputs, labels, blobs.examples.class_names)),
        (inputs, labels),
    ):
        np.testing.assert_array_equal(find_label_issues(same, plan=QUICK)["gap"], plain["gap"])
    two = find_label_issues(inputs, labels == 0, plan=QUICK)
    assert two["given_label"].dtype == bool
    frame = pd.DataFrame(inputs, columns=list("abcde"), index=np.arange(len(labels))[::-1])
    table = find_label_issues(frame, pd.Series(labels, index=frame.index), plan=QUICK)
    np.testing.assert_array_equal(table["gap"], plain["gap"])
    assert table["given_label"].tolist() == labels.tolist()


def test_the_seed_and_fast_say_what_is_trained(blobs: DataSet) -> None:
    inputs, labels, _ = spoilt(blobs)
    first, again, other = (find_label_issues(inputs, labels, plan=QUICK, seed=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert np.abs(first["gap"] - other["gap"]).max() > 1e-3
    assert find_label_issues(inputs[:40], labels[:40], fast=True, threads=1)["gap"].notna().all()


@pytest.mark.parametrize("gaps", [None, np.nan, ""])
def test_missing_labels_are_listed_and_predicted(blobs: DataSet, gaps: Any) -> None:
    inputs, labels, _ = spoilt(blobs)
    named: list[Any] = [KINDS[label] for label in labels]
    named[7] = named[8] = gaps
    with pytest.warns(Notice, match=r"^2 examples have no label and were not audited: rows 7, 8\."):
        table = find_label_issues(inputs, named, plan=QUICK)
    assert len(table) == len(labels)
    assert table["predicted_label"][[7, 8]].tolist() == [KINDS[label] for label in blobs.examples.labels[7:9]]
    assert not table["is_label_issue"][[7, 8]].any()
    assert table["gap"][[7, 8]].isna().all()


def test_a_single_missing_label_is_one(blobs: DataSet) -> None:
    with pytest.warns(Notice, match=r"^1 example has no label and was not audited: row 1\.$"):
        find_label_issues(labels=[0, None, 1, 0], pred_probs=np.eye(2)[[0, 1, 1, 0]])


def test_of_dice_nothing_is_flagged_unless_asked_for() -> None:
    generator = np.random.default_rng(0)
    inputs, labels = generator.normal(size=(100, 3)), generator.integers(0, 2, 100)
    with pytest.warns(Notice, match="learned next to nothing") as caught:
        table = find_label_issues(inputs, labels, plan=QUICK)
    assert caught[0].filename == __file__
    assert not table["is_label_issue"].any()
    assert table.attrs == {
        "wrong_labels": None,
        "share": None,
        "interval": None,
        "known_from": None,
        "warning": str(caught[0].message),
        "note": None,
    }
    with pytest.warns(Notice, match="learned next to nothing"):
        rule_given = find_label_issues(inputs, labels, plan=QUICK, budget=7)
    assert rule_given["is_label_issue"].sum() == 7
    assert rule_given.attrs["wrong_labels"] is None


def test_notes_on_the_data_are_told(blobs: DataSet) -> None:
    inputs, labels, _ = spoilt(blobs)
    labels = labels.copy()
    labels[12] = 3
    with pytest.warns(Notice, match="1 class has a single example"):
        find_label_issues(inputs, labels, plan=QUICK)
    with pytest.raises(InputError, match="looks like an identifier"):
        find_label_issues(inputs, np.arange(len(labels)) // 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        table = find_label_issues(inputs, np.arange(len(labels)) // 3, many_classes=True, plan=QUICK)
    assert len(table) == len(labels)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "there are neither inputs to train on nor probabilities"),
        ({"X": 1, "labels": 1}, "there are both inputs to train on and probabilities"),
        ({"y": [0, 1], "pred_probs": 1}, "there are both"),
        ({"labels": [0, 1]}, "there is labels but no pred_probs"),
        ({"pred_probs": np.eye(2)}, "there is pred_probs but no labels"),
        ({"y": [0, 1]}, "there is y but no X: give both"),
        ({"X": np.eye(2)}, "there is X but no y: give both"),
        ({"labels": [0, 1], "pred_probs": np.eye(2), "fast": True}, "fast is for training"),
        ({"labels": [0, 1], "pred_probs": np.eye(2), "seed": 0}, "seed is for training"),
        ({"X": np.eye(2), "y": [0, 1], "plan": QUICK, "fast": True}, "plan and fast both say"),
        ({"X": np.eye(2), "y": [0, 1], "seed": -1}, "seed is -1"),
        ({"X": np.eye(4)[[0, 1] * 4], "y": [0.5] * 8}, r"has 0\.5 in row 0, which is no class"),
        ({"X": np.ones((9, 2)), "y": ["a"] * 9}, "only one class"),
        ({"X": np.ones((9, 2)), "y": [0, 1] * 3}, "there are 9 inputs but 6 labels"),
        ({"X": [0, 1, 0], "y": np.eye(3)}, r"find_label_issues\(labels=\.\.\., pred_probs=\.\.\.\)"),
    ],
)
def test_what_is_given_wrongly(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        find_label_issues(**arguments)


def test_classes_keep_their_type() -> None:
    for labels, names in (
        (["b", "a", None, "b"], ["a", "b"]),
        (np.array([7, -1, 7, 7]), [-1, 7]),
        (pd.Series([1.0, np.nan, 2.0, 1.0]), [1, 2]),
        (pd.Series(["x", "y", "x", "x"], dtype="category"), ["x", "y"]),
        (["2", "10", "2", "2"], ["10", "2"]),
    ):
        data, as_given = prepare_data(np.ones((4, 2)), labels)
        assert as_given.names is not None
        assert as_given.names.tolist() == names
        assert len(data.examples) == 4


@given(
    st.lists(st.none() | st.sampled_from(["a", "bc", "Ü", "0"]), min_size=4, max_size=12)
    | st.lists(st.none() | st.integers(-9, 9), min_size=4, max_size=12)
)
def test_labels_come_back_as_they_were_given(labels: list[Any]) -> None:
    known = [label for label in labels if label is not None]
    assume(1 < len(set(known)) < len(known))
    _, given_labels = prepare_data(np.ones((len(labels), 2)), labels)
    assert given_labels.missing.tolist() == [label is None for label in labels]
    there = given_labels.labels[~given_labels.missing]
    assert given_labels.to_names(there).tolist() == known


def test_both_ways_have_the_same_options() -> None:
    parameters = inspect.signature(find_label_issues).parameters
    assert list(parameters)[:4] == ["X", "y", "labels", "pred_probs"]
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in list(parameters)[2:])


def test_columns_that_give_labels_away_are_told_of(blobs: DataSet) -> None:
    inputs, labels, _ = spoilt(blobs)
    frame = pd.DataFrame(inputs, columns=list("abcde")).assign(id=np.arange(len(labels)), code=labels)
    with pytest.warns(Notice) as told:
        find_label_issues(frame, labels, plan=QUICK)
    said = [str(warning.message) for warning in told]
    telling, numbering = (sentence for sentence in said if sentence.startswith("X: "))
    assert telling.startswith("X: column 'code' tells the label without any other")
    assert telling.endswith("leave it out with X.drop(columns=['code']).")
    assert numbering.startswith("X: column 'id' differs in every row")

"""`find_label_issues` with probabilities: its table, its rules and its errors."""

import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiselimit import InputError, find_label_issues
from noiselimit.audit import label_model, quality
from noiselimit.audit.issues import (
    FlagRule,
    audit_probabilities,
    compare_with_clean_labels,
    describe_noise_rate,
)
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.errors import Notice

COLUMNS = (
    "is_label_issue error_probability label_quality given_label predicted_label gap suggested_probability "
    "models_against rank_in_class row"
)
NAMES = np.array(["ape", "bee", "cat"])


def draw(
    rows: int = 200, classes: int = 4, seed: int = 0, wrong: float = 0.2
) -> tuple[np.ndarray, np.ndarray]:
    """Labels and rather sure probabilities; every class occurs, no two gaps are equal."""
    generator = np.random.default_rng(seed)
    clean = np.arange(rows) % classes
    logits = 4 * np.eye(classes)[clean] + generator.normal(size=(rows, classes))
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    shift = (generator.random(rows) < wrong) * generator.integers(1, classes, size=rows)
    shift[:classes] = 0
    return (clean + shift) % classes, p


small = {"rows": st.integers(12, 60), "classes": st.integers(2, 5), "seed": st.integers(0, 2**20)}


def test_columns_in_data_order() -> None:
    labels, p = draw()
    table = find_label_issues(labels=labels, pred_probs=p)
    assert list(table) == COLUMNS.split()
    assert table["row"].tolist() == list(range(200))
    assert table["given_label"].tolist() == labels.tolist()
    assert table["is_label_issue"].dtype == bool
    assert table["label_quality"].between(0, 1).all()
    flagged = table[table["is_label_issue"]]
    assert 10 < len(flagged) < 70
    assert (flagged["given_label"] != flagged["predicted_label"]).all()
    low, high = table.attrs["interval"]
    assert low <= table.attrs["wrong_share"] <= high


@settings(max_examples=30, deadline=None)
@given(**small)
def test_the_order_of_rows_does_not_matter(rows: int, classes: int, seed: int) -> None:
    labels, p = draw(rows, classes, seed)
    order = np.random.default_rng(seed).permutation(rows)
    table = find_label_issues(labels=labels, pred_probs=p).iloc[order].reset_index(drop=True)
    again = find_label_issues(labels=labels[order], pred_probs=p[order])
    columns = ["row", "rank_in_class"]  # ties of rank stay in the order of rows
    pd.testing.assert_frame_equal(table.drop(columns=columns), again.drop(columns=columns))


@settings(max_examples=30, deadline=None)
@given(budget=st.integers(0, 80), share=st.floats(0, 0.99), quality=st.floats(0, 1), **small)
def test_rules_flag_what_they_say(
    budget: int, share: float, quality: float, rows: int, classes: int, seed: int
) -> None:
    labels, p = draw(rows, classes, seed)
    table = find_label_issues(labels=labels, pred_probs=p, budget=budget)
    flagged = table["is_label_issue"]
    assert flagged.sum() == min(budget, rows)
    if 0 < budget < rows:
        assert table.loc[flagged, "label_quality"].max() <= table.loc[~flagged, "label_quality"].min()
    by_share = find_label_issues(labels=labels, pred_probs=p, expect_noise=share)["is_label_issue"]
    assert by_share.sum() == round(share * rows)
    errors = np.sort(table["error_probability"])[::-1]
    for rule, reached in (
        ("precision", errors.cumsum() / np.arange(1, rows + 1)),
        ("recall", errors.cumsum() / errors.sum()),
    ):
        count = find_label_issues(labels=labels, pred_probs=p, **{rule: share})["is_label_issue"].sum()
        enough = np.flatnonzero(reached >= share - 1e-12)
        assert count == (
            enough.max(initial=-1) + 1 if rule == "precision" else (share > 0) * (enough.min() + 1)
        )
    by_quality = find_label_issues(labels=labels, pred_probs=p, min_quality=quality)["is_label_issue"]
    assert (by_quality == (table["label_quality"] < quality)).all()


def test_a_budget_is_exact_among_ties() -> None:
    p = np.tile([0.5, 0.5], (10, 1))
    flagged = find_label_issues(labels=[0, 1] * 5, pred_probs=p, budget=3)["is_label_issue"]
    assert np.flatnonzero(flagged).tolist() == [0, 1, 2]


@pytest.mark.parametrize("names", [["low", "mid", "high"], ["0", "10", "2"], [0, 1, 2], [7, 3, 5]])
def test_categories_are_columns_in_their_own_order(names: list[Any]) -> None:
    labels, p = draw(classes=3)
    categories = pd.Series(pd.Categorical.from_codes(labels, names))
    plain = find_label_issues(labels=labels, pred_probs=p)
    for form in (categories, pd.Index(categories), categories.array):
        table = find_label_issues(labels=form, pred_probs=p)
        assert (table["is_label_issue"] == plain["is_label_issue"]).all()
        assert (table["predicted_label"] == np.array(names, object)[plain["predicted_label"]]).all()
        assert names == [0, 1, 2] or table["predicted_label"].dtype == categories.dtype
    some = labels < 2  # one category without a label
    table = find_label_issues(labels=categories[some], pred_probs=p[some])
    assert (table["given_label"] == np.array(names, object)[labels[some]]).all()


def test_memory_grows_by_the_table_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "CHUNK", 2**15)
    monkeypatch.setattr(label_model, "VALUES", 2**15)
    labels, p = draw(300_000, classes=4)
    np.save(tmp_path / "p.npy", p.astype(np.float16))

    def peak(rows: int) -> int:
        mapped = np.load(tmp_path / "p.npy", mmap_mode="r")[:rows]
        tracemalloc.start()
        find_label_issues(labels[:rows], mapped)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(300_000) - peak(100_000) < 200_000 * 75  # 50 million rows in less than 4 GB


def test_columns_in_the_wrong_order_are_noticed() -> None:
    labels, p = draw(classes=3)
    with pytest.warns(Notice, match="by chance"):
        table = find_label_issues(labels=labels, pred_probs=np.roll(p, 1, axis=0))
    assert "by chance" in table.attrs["note"]


@pytest.mark.parametrize("kind", ["list", "floats", "Int64", "names", "category"])
def test_missing_labels_are_listed_and_the_rest_audited(kind: str) -> None:
    labels, p = draw(classes=3)
    some: Any = [None if row in (4, 9) else int(label) for row, label in enumerate(labels)]
    if kind == "floats":
        some = np.array(some, float)
    elif kind == "Int64":
        some = pd.Series(some, dtype="Int64")
    elif kind in ("names", "category"):
        some = pd.Series([None if label is None else NAMES[label] for label in some])
        some = some.astype("category") if kind == "category" else some
    with pytest.warns(Notice, match=r"rows 4, 9\."):
        table = find_label_issues(labels=some, pred_probs=p)
    kept = np.delete(np.arange(200), [4, 9])
    alone = find_label_issues(labels=labels[kept], pred_probs=p[kept])
    for name in ("is_label_issue", "label_quality", "gap", "rank_in_class", "suggested_probability"):
        assert table.loc[kept, name].tolist() == alone[name].tolist()
    assert table["given_label"].isna().to_numpy().nonzero()[0].tolist() == [4, 9]
    assert not table.loc[[4, 9], "is_label_issue"].any()
    predicted = p[[4, 9]].argmax(1)
    if kind == "names":
        assert (table.loc[kept, "given_label"] == NAMES[labels[kept]]).all()
    wanted = NAMES[predicted] if kind in ("names", "category") else predicted
    assert table.loc[[4, 9], "predicted_label"].tolist() == list(wanted)


def with_entry(p: np.ndarray, value: float) -> np.ndarray:
    changed = p.copy()
    changed[7, 1] = value
    return changed


LABELS, P = draw(20, 4)
BAD: list[tuple[dict[str, Any], str]] = [
    ({"labels": [4, *LABELS[1:]]}, "row 0 is 4"),
    ({"labels": [0.5, *LABELS[1:]]}, "row 0 is 0.5"),
    ({"labels": [float("inf"), *LABELS[1:]]}, "row 0 is inf"),
    ({"labels": ["a", *LABELS[1:]]}, "only strings"),
    ({"labels": ["a", "b"] * 10}, "2 different names"),
    ({"labels": LABELS[:-1]}, "19 labels but 20 rows"),
    ({"labels": LABELS.reshape(4, 5)}, "shape [4, 5]"),
    ({"labels": np.ones(20, int)}, "one class"),
    ({"labels": [None] * 20}, "missing"),
    ({"pred_probs": with_entry(P, np.nan)}, "row 7"),
    ({"pred_probs": with_entry(P, -0.5)}, "row 7"),
    ({"pred_probs": P / 2}, "row 0"),
    ({"pred_probs": np.ones((20, 1))}, "shape [20, 1]"),
    ({"pred_probs": P[:, 0]}, "shape [20]"),
    ({"pred_probs": P.astype(str)}, "type <U"),
    ({"budget": 2.5}, "budget is 2.5"),
    ({"budget": True}, "budget is True"),
    ({"expect_noise": 1.0}, "expect_noise is 1"),
    ({"min_quality": 1.5}, "min_quality is 1.5"),
    ({"precision": 1.5}, "precision is 1.5"),
    ({"budget": 3, "recall": 0.5}, "budget and recall"),
]


@pytest.mark.parametrize(("change", "words"), BAD, ids=[words for _, words in BAD])
def test_bad_input_gives_one_sentence(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        find_label_issues(**{"labels": LABELS, "pred_probs": P, **change})
    assert ". " not in str(caught.value)


def test_many_classes_take_little_memory() -> None:
    import tracemalloc

    p = np.random.default_rng(0).random((16_000, 1000), np.float32)
    labels = np.arange(16_000) % 1000
    p[np.arange(16_000), labels] += 50
    p /= p.sum(1, keepdims=True)
    tracemalloc.start()
    find_label_issues(labels=labels, pred_probs=p)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 170e6  # [n, C] in float64 would be 128 MB, beside what a fit takes


@pytest.mark.parametrize("missing", [False, True])
def test_clean_labels_measure_the_audit(missing: bool) -> None:
    clean = np.arange(60) % 2
    labels: Any = pd.Series(np.where(np.arange(60) < 6, 1 - clean, clean)).astype(object)
    data = DataSet("x", make_examples(np.zeros((60, 1)), labels.tolist(), clean_labels=clean))
    p = 0.1 + 0.8 * np.eye(2)[clean]
    if missing:
        labels[0] = None
    audit = audit_probabilities(labels, p, FlagRule(budget=10))
    assert compare_with_clean_labels(audit, data) == {
        "wrong": 6 - missing,
        "found": 6 - missing,
        "auc": 1.0,
    }
    assert compare_with_clean_labels(audit, DataSet("x", make_examples(np.zeros((60, 1)), clean))) is None
    assert f"the {60 - missing} labels look wrong, about {5 if missing else 6}" in describe_noise_rate(
        audit.noise_rate
    )


def test_ranks_count_from_the_worst_of_each_class_and_ties_stay_in_order() -> None:
    doubted = np.array([0.3, 0.9, 0.2, 0.8, 0.9])
    labels = np.array([0, 0, 1, 1, 0])
    p = np.where(np.eye(2, dtype=bool)[labels], 1 - doubted[:, np.newaxis], doubted[:, np.newaxis])
    audit = audit_probabilities(labels, p, FlagRule(budget=1))
    assert audit.table["rank_in_class"].tolist() == [3, 1, 2, 1, 2]
    assert audit.table["is_label_issue"].tolist() == [False, True, False, False, False]

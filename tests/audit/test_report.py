"""The output of an audit: what its page shows."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from noiselimit.audit.issues import Audit, FlagRule, audit_probabilities
from noiselimit.audit.report import describe_inputs, make_audit_report
from noiselimit.data.columns import Categorical, Numeric
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.table_file import frame_data_set
from noiselimit.data.tables import Table
from noiselimit.report.html import render
from noiselimit.runs.spec import RunSpec
from noiselimit.training import train
from tests.pages import Page

HOSTILE = "<script>alert(1)</script>"


def problem(rows: int, classes: int, wrong: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Given labels, of which the first are wrong, clean labels, and probabilities of the clean ones."""
    clean = np.arange(rows) % classes
    given = clean.copy()
    given[:wrong] = (clean[:wrong] + 1) % classes
    probabilities = np.full((rows, classes), 0.1 / (classes - 1))
    probabilities[np.arange(rows), clean] = 0.9
    return given, clean, probabilities


def small(class_names: list[str], wrong: int = 6, rows: int = 60, **more: Any) -> tuple[Audit, DataSet]:
    given, _, probabilities = problem(rows, len(class_names), wrong)
    shape = (rows, 3, 8, 8) if more.pop("pictures", False) else (rows, 4)
    inputs = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    data = DataSet("small", make_examples(inputs, given, class_names=class_names, **more))
    return audit_probabilities(given, probabilities), data


def test_a_table_is_shown_from_top_to_bottom() -> None:
    page = render(make_audit_report(*small(["cat", "dog"])))
    parsed = Page(page)
    assert parsed.ids == {"flagged", "classes", "confusions", "gap", "facts", "pair-all", "pair-0", "pair-1"}
    assert "of the 60 labels look wrong, about 6" in page
    assert page.count('class="cell') == 4
    assert page.count('class="threshold"') == 1
    assert sum(tag == "li" for tag, _ in parsed.tags) == 6
    assert page.count("</b> likely wrong") == 6
    assert "<img" not in page


def test_hostile_names_stay_text() -> None:
    audit, data = small([HOSTILE, "b"], names=[HOSTILE] * 60)
    table = Table((Numeric(HOSTILE), Numeric("x"), Categorical("c", (HOSTILE, "other"))))
    data = DataSet(HOSTILE + "name", data.examples, table=table, notes=(HOSTILE,))
    parsed = Page(render(make_audit_report(audit, data)))
    assert sum(HOSTILE in text for _, text in parsed.texts) > 10


def test_pictures_are_shown_with_their_names() -> None:
    names = ["cat", "dog", "eel"]
    audit, data = small(names, pictures=True, names=[f"{row}.jpg" for row in range(60)])
    report = make_audit_report(audit, data)
    assert sum(tag == "img" for tag, _ in Page(render(report)).tags) == 6
    assert {suspect.index for suspect in report.suspects} == set(range(6))
    for suspect in report.suspects:
        assert suspect.name == f"{suspect.index}.jpg"
        assert suspect.suggested == names[suspect.index % 3]
        assert suspect.given == names[(suspect.index + 1) % 3]


def test_a_thousand_classes_have_lists_instead_of_a_matrix() -> None:
    names = [f"class {number}" for number in range(1000)]
    report = make_audit_report(*small(names, 40, rows=3000))
    page = render(report)
    assert report.transition is None
    assert "cell" not in page.split("</style>")[1]
    assert (len(report.confusions), len(report.by_class), len(report.unflagged_classes)) == (20, 40, 960)
    assert {"classes", "unflagged", "pair-39"} <= Page(page).ids
    assert len(page) < 200_000


def test_class_pairs_take_turns_and_confusions_are_sorted() -> None:
    given, _, probabilities = problem(60, 3, 12)
    probabilities[0] = [0.98, 0.01, 0.01]
    given[1:12] = np.where(np.arange(1, 12) % 3 == 1, given[1:12], (np.arange(1, 12) + 1) % 3)
    data = DataSet("x", make_examples(np.zeros((60, 2)), given, class_names=["a", "b", "c"]))
    report = make_audit_report(audit_probabilities(given, probabilities), data)
    shown = [(suspect.given, suspect.suggested, suspect.pair) for suspect in report.suspects]
    assert (report.suspects[0].index, len(shown), report.flags) == (0, 12, 12)
    assert [pair.flagged for pair in report.pairs] == [4, 4, 4]
    assert all(report.pairs[pair or 0][:2] == (given, right) for given, right, pair in shown)
    for start in range(0, 12, 3):
        assert len(set(shown[start : start + 3])) == 3
    counts = [flagged for _, flagged, _ in report.by_class]
    assert (counts, sum(counts)) == (sorted(counts, reverse=True), 12)
    report = make_audit_report(*small(["a", "b", "c"], wrong=9))
    found = {(confusion.given, confusion.right): confusion.labels for confusion in report.confusions}
    assert found == pytest.approx({("b", "a"): 3.0, ("c", "b"): 3.0, ("a", "c"): 3.0}, abs=1)
    assert report.transition is not None
    assert report.transition[0, 1] > 10 * report.transition[1, 0]


def test_clean_labels_flag_nothing() -> None:
    report = make_audit_report(*small(["a", "b"], wrong=0))
    page = render(report)
    assert report.sentence.startswith("None of 60 labels")
    assert 'class="threshold"' not in page
    assert (report.flags, len(report.suspects), report.pairs) == (0, 24, [])
    assert "most suspicious" in page
    assert report.confusions == []


def test_missing_labels_are_counted_but_not_shown() -> None:
    given, clean, probabilities = problem(60, 2, 6)
    labels = pd.Series(given).astype(object)
    labels[[0, 30]] = None
    audit = audit_probabilities(labels, probabilities)
    report = make_audit_report(audit, DataSet("x", make_examples(np.zeros((60, 1)), clean)))
    assert sum(map(len, report.scores.values())) == 58
    assert "rows 0, 30." in report.flagged
    assert 0 not in {suspect.index for suspect in report.suspects}
    Page(render(report))


def test_a_rule_and_clean_labels_are_mentioned() -> None:
    given, clean, probabilities = problem(60, 2, 6)
    audit = audit_probabilities(given, probabilities, FlagRule(budget=10))
    data = DataSet("x", make_examples(np.zeros((60, 1)), given, clean_labels=clean))
    report = make_audit_report(audit, data)
    assert len(report.scores["flagged"]) == 10
    assert "--budget 10" in report.flagged
    assert "AUROC of the order 1.0000" in report.flagged


def test_runs_bring_their_curves_and_facts(blobs: DataSet) -> None:
    runs = train([RunSpec("limit-l", {"beta": beta}, epochs=2, batch_size=16) for beta in (3, 10)], blobs)
    given, _, probabilities = problem(151, 3, 9)
    report = make_audit_report(audit_probabilities(given, probabilities), blobs, runs, [False, True])
    assert "curves" in Page(render(report)).ids
    assert [run.chosen for run in report.runs] == [False, True]
    used, left_out = report.facts["Probabilities"].split("left out")
    assert "β\u00a010" in used
    assert "β\u00a03" in left_out


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": [1, 2, 3, 4]}, "1 column of numbers"),
        ({"c": list("uvwu"), "d": list("uuuv")}, "2 columns of categories as 5 features"),
        ({"a": [1, 2, 3, 4], "c": list("uvwu")}, "2 columns (1 of numbers, 1 of categories as 3 features)"),
        ({"d": ["2020-01-01", "2020-01-02"] * 2}, "1 column of dates"),
    ],
)
def test_inputs_in_words(columns: dict[str, list[object]], words: str) -> None:
    assert describe_inputs(frame_data_set(pd.DataFrame(columns), [0, 1, 0, 1])) == words
    pictures = make_examples(np.zeros((4, 3, 48, 40), np.float32), [0, 1, 0, 1])
    assert describe_inputs(DataSet("some", pictures)) == "images 3×48×40"
    assert describe_inputs(DataSet("some", make_examples(np.zeros((4, 64)), [0, 1, 0, 1]))) == "64 numbers"


def test_a_page_stays_small_and_says_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    _, data = small(["a", "b"], wrong=40, pictures=True)
    audit = audit_probabilities(data.examples.labels, problem(60, 2, 40)[2], FlagRule(budget=40))
    monkeypatch.setattr("noiselimit.audit.report.MOST_CARDS", 30)
    report = make_audit_report(audit, data)
    assert (len(report.suspects), report.flags) == (30, 40)
    assert "The first 30 of 40; 10 more" in render(report)
    monkeypatch.setattr("noiselimit.report.html.MOST_BYTES", 5000)
    page = render(report)
    shown = sum(tag == "img" for tag, _ in Page(page).tags)
    assert 0 < shown < 30
    assert f"{40 - shown} more" in page


def test_rare_class_pairs_share_a_filter() -> None:
    report = make_audit_report(*small([f"class {number}" for number in range(100)], 100, rows=300))
    assert len(report.pairs) == 41
    assert report.pairs[-1] == ("", "", 60)
    assert sum(suspect.pair == 40 for suspect in report.suspects) == 60

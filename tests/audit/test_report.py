"""The output of an audit: the files of its folder, and what its page shows."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiselimit.audit.fit import AuditFit
from noiselimit.audit.issues import Audit, FlagRule, audit_probabilities
from noiselimit.audit.report import check_audit_folder, describe_inputs, make_audit_report, save_audit
from noiselimit.data.columns import Categorical, Numeric
from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.data.table_file import frame_data_set
from noiselimit.data.tables import Table
from noiselimit.errors import InputError
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
    assert parsed.ids == {"flagged", "confusions", "galleries", "gap", "facts"}
    assert "About 6 of 60 labels (10.0\u00a0%)" in page
    assert page.count('class="cell') == 4
    assert page.count('class="threshold"') == 1
    assert (
        sum(tag == "li" for tag, _ in parsed.tags) == 6 + 6
    )  # the worst of all classes, then class by class
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
    assert sum(tag == "img" for tag, _ in Page(render(report)).tags) == 6 + 6
    shown = [suspect for gallery in report.galleries for suspect in gallery.suspects]
    assert {suspect.index for suspect in shown} == set(range(6))
    for suspect in shown:
        assert suspect.name == f"{suspect.index}.jpg"
        assert suspect.suggested == names[suspect.index % 3]
        assert suspect.given == names[(suspect.index + 1) % 3]


def test_a_thousand_classes_have_lists_instead_of_a_matrix() -> None:
    names = [f"class {number}" for number in range(1000)]
    report = make_audit_report(*small(names, 40, rows=3000))
    page = render(report)
    assert report.transition is None
    assert "cell" not in page.split("</style>")[1]
    assert (len(report.confusions), len(report.galleries)) == (20, 12)
    assert (len(report.other_classes), len(report.unflagged_classes)) == (28, 960)
    assert {"others", "unflagged"} <= Page(page).ids
    assert len(page) < 200_000


def test_galleries_and_confusions_are_sorted() -> None:
    given, _, probabilities = problem(60, 3, 12)
    probabilities[0] = [0.98, 0.01, 0.01]
    given[1:12] = np.where(np.arange(1, 12) % 3 == 1, given[1:12], (np.arange(1, 12) + 1) % 3)
    data = DataSet("x", make_examples(np.zeros((60, 2)), given, class_names=["a", "b", "c"]))
    report = make_audit_report(audit_probabilities(given, probabilities), data)
    counts = [gallery.flagged for gallery in report.galleries]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == len(report.gaps["flagged"])
    for gallery in report.galleries:
        gaps = [suspect.gap for suspect in gallery.suspects]
        assert gaps == sorted(gaps, reverse=True)
    report = make_audit_report(*small(["a", "b", "c"], wrong=9))
    found = {(confusion.given, confusion.right): confusion.labels for confusion in report.confusions}
    assert found == pytest.approx({("b", "a"): 3.0, ("c", "b"): 3.0, ("a", "c"): 3.0})
    assert report.transition is not None
    assert report.transition[0, 1] > 0 == report.transition[1, 0]


def test_clean_labels_flag_nothing() -> None:
    report = make_audit_report(*small(["a", "b"], wrong=0))
    page = render(report)
    assert report.sentence.startswith("None of 60 labels")
    assert 'class="threshold"' not in page
    assert [(gallery.heading, gallery.flagged) for gallery in report.galleries] == [("The largest gaps", 0)]
    assert report.confusions == []


def test_missing_labels_are_counted_but_not_shown() -> None:
    given, clean, probabilities = problem(60, 2, 6)
    labels = pd.Series(given).astype(object)
    labels[[0, 30]] = None
    audit = audit_probabilities(labels, probabilities)
    report = make_audit_report(audit, DataSet("x", make_examples(np.zeros((60, 1)), clean)))
    assert sum(map(len, report.gaps.values())) == 58
    assert "rows 0, 30." in report.flagged
    assert 0 not in {suspect.index for gallery in report.galleries for suspect in gallery.suspects}
    Page(render(report))


def test_a_rule_and_clean_labels_are_mentioned() -> None:
    given, clean, probabilities = problem(60, 2, 6)
    audit = audit_probabilities(given, probabilities, FlagRule(budget=10))
    data = DataSet("x", make_examples(np.zeros((60, 1)), given, clean_labels=clean))
    report = make_audit_report(audit, data)
    assert len(report.gaps["flagged"]) == 10
    assert "--budget 10" in report.flagged
    assert "AUROC of the gap 1.0000" in report.flagged


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


NAMES = ("cat", "dog, small", 'the "owl"')


def write(folder: Path, audit: Audit, p: Any, data: DataSet, overwrite: bool = False) -> None:
    fit = AuditFit(p, len(p), [], [])
    save_audit(folder, audit, fit, data, overwrite=overwrite)


def make(
    rows: int = 40, seed: int = 0, names: tuple[str, ...] = NAMES, paths: bool = True
) -> tuple[Audit, np.ndarray, DataSet]:
    generator = np.random.default_rng(seed)
    labels = np.arange(rows) % len(names)
    logits = 3 * np.eye(len(names))[labels] + generator.normal(size=(rows, len(names)))
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    labels[len(names) : len(names) + 4] = np.roll(labels[len(names) : len(names) + 4], 1)
    files = [f"{names[label]}/{row}\r é.png" for row, label in enumerate(labels)] if paths else None
    examples = Examples(np.zeros((rows, 2), np.float32), labels, names, names=files)
    return audit_probabilities(labels, p), p, DataSet("pets", examples)


def test_files_hold_names_in_data_order(tmp_path: Path) -> None:
    audit, p, data = make()
    write(tmp_path / "out", audit, p, data)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    table = pd.read_parquet(tmp_path / "out" / "label_issues.parquet")
    assert list(table) == [*audit.table, "path"]
    assert table["path"].tolist() == list(data.examples.names or ())
    assert table["is_label_issue"].tolist() == audit.table["is_label_issue"].tolist()
    assert table["is_label_issue"].any()
    for column in ("given_label", "predicted_label"):  # codes are columns of pred_probs
        assert table[column].cat.categories.tolist() == list(NAMES)
        assert table[column].cat.codes.tolist() == audit.table[column].tolist()
    read = pd.read_csv(tmp_path / "out" / "label_issues.csv")
    pd.testing.assert_frame_equal(read, table.astype({"given_label": "str", "predicted_label": "str"}))


def test_missing_labels_missing_paths_and_names_out_of_order(tmp_path: Path) -> None:
    _, p, data = make(30, 1, ("9", "10", "=cmd|' /C calc'!A0"), paths=False)
    labels: list[float | None] = data.examples.labels.tolist()
    labels[5] = None
    write(tmp_path / "out", audit_probabilities(labels, p), p, data)
    table = pd.read_parquet(tmp_path / "out" / "label_issues.parquet")
    assert list(table)[-1] == "row"
    assert table["given_label"].cat.codes.tolist() == [-1 if label is None else label for label in labels]
    assert table["predicted_label"].notna().all()
    read = pd.read_csv(tmp_path / "out" / "label_issues.csv", dtype=str)
    assert read["given_label"].fillna("").tolist() == table["given_label"].astype(object).fillna("").tolist()


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 40), st.integers(0, 2**20), st.sampled_from(["f2", "f4", "f8"]))
def test_probabilities_sum_to_one_and_keep_their_order(
    tmp_path_factory: pytest.TempPathFactory, classes: int, seed: int, kind: str
) -> None:
    folder = tmp_path_factory.mktemp("p")
    audit, p, data = make(3 * classes, seed, tuple(f"c{i}" for i in range(classes)))
    p = p.astype(kind)
    write(folder / "out", audit, p, data)
    read = np.load(folder / "out" / "pred_probs.npy")
    assert (read.dtype, read.shape) == (np.float32, p.shape)
    assert np.abs(read.sum(1, dtype=np.float64) - 1).max() < 1e-6
    assert 0 <= read.min() <= read.max() <= 1
    np.testing.assert_allclose(read, p, atol=2e-3 if kind == "f2" else 1e-6)
    np.testing.assert_array_equal(read.max(1), read[np.arange(len(read)), p.argmax(1)])


def test_an_existing_folder_is_replaced_only_if_asked_and_if_it_is_an_audit(tmp_path: Path) -> None:
    audit, p, data = make()
    out = tmp_path / "out"
    write(out, audit, p, data)
    before = (out / "pred_probs.npy").read_bytes()
    with pytest.raises(InputError, match="--overwrite"):
        write(out, audit, np.roll(p, 1, 1), data)
    assert (out / "pred_probs.npy").read_bytes() == before
    write(out, audit, np.roll(p, 1, 1), data, overwrite=True)
    assert (out / "pred_probs.npy").read_bytes() != before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    (out / "thesis.tex").write_text("years")
    with pytest.raises(InputError, match=r"thesis\.tex"):
        write(out, audit, p, data, overwrite=True)
    with pytest.raises(InputError, match="file"):
        write(out / "thesis.tex", audit, p, data, overwrite=True)


@pytest.mark.parametrize("done", [False, True])
def test_the_next_call_finishes_or_undoes_a_killed_replacement(tmp_path: Path, done: bool) -> None:
    audit, p, data = make()
    out = tmp_path / "out"
    write(out, audit, p, data)
    old = tmp_path / ".out.noiselimit-old"
    out.rename(old)  # as kill -9 leaves it between the two renames
    if done:  # or after them
        shutil.copytree(old, out)
    with pytest.raises(InputError, match="--overwrite"):
        check_audit_folder(out, overwrite=False)
    assert list(tmp_path.iterdir()) == [out]

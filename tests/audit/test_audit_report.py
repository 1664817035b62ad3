"""The page of an audit: in words, in pictures, and nothing in it but text from data."""

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from noiselimit.audit.issues import (
    Audit,
    FlagRule,
    GroundTruth,
    audit_probabilities,
    compare_with_clean_labels,
    describe_noise_rate,
)
from noiselimit.audit.report import make_audit_report, row_columns
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.tables import Categorical, Numeric, Table
from noiselimit.errors import InputError
from noiselimit.report import render_audit, write_report
from noiselimit.runs.spec import RunSpec
from noiselimit.training import train

HOSTILE = "<script>alert(1)</script>"
SURE = 0.9


class Tags(HTMLParser):
    """Tags with attributes, texts of summaries, and ids; complains about what is left open."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "img", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def ids(self) -> list[str | None]:
        return [attributes["id"] for _, attributes in self.tags if "id" in attributes]


def assert_self_contained(page: str) -> Tags:
    parsed = Tags(page)
    for tag, attributes in parsed.tags:
        assert tag not in {"script", "link", "iframe", "object", "a", "use", "form"}
        assert not {"href", "style", "srcset"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)
        assert str(attributes.get("src", "data:image/png;base64,")).startswith("data:image/png;base64,")
    return parsed


def problem(
    rows: int, classes: int, wrong: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Given labels, right labels and probabilities that are sure of the right ones; the first are wrong."""
    right = np.arange(rows) % classes
    given = right.copy()
    given[:wrong] = (right[:wrong] + 1) % classes
    probabilities = np.full((rows, classes), (1 - SURE) / (classes - 1))
    probabilities[np.arange(rows), right] = SURE
    return given, right, probabilities


def small(names: list[str], wrong: int = 6, rows: int = 60, pictures: bool = False) -> tuple[Audit, DataSet]:
    given, _, probabilities = problem(rows, len(names), wrong)
    generator = np.random.default_rng(0)
    inputs = (
        generator.integers(0, 256, (rows, 3, 8, 8)).astype(np.uint8)
        if pictures
        else generator.normal(size=(rows, 4))
    )
    data = DataSet("small", make_examples(inputs, given, class_names=names))
    return audit_probabilities(given, probabilities), data


def test_two_classes_are_shown_from_top_to_bottom(tmp_path: Path) -> None:
    audit, data = small(["cat", "dog"])
    write_report(tmp_path / "report.html", make_audit_report(audit, data, ["cat", "dog"]))
    page = (tmp_path / "report.html").read_text("utf-8")
    parsed = assert_self_contained(page)
    assert parsed.ids == ["flagged", "confusions", "galleries", "gap", "facts"]
    assert "About 6 of 60 labels (10.0\u00a0%) are wrong, plausibly between" in page
    assert page.count('class="cell') == 4
    assert page.count('class="threshold"') == 1
    assert sum(tag == "li" for tag, _ in parsed.tags) == 6 + 6  # first of all classes, then class by class
    assert "value 3" in page
    assert "not flagged: 54" in page
    assert "<img" not in page


def test_hostile_names_are_text_wherever_they_come_from() -> None:
    names = [HOSTILE, "b"]
    audit, data = small(names)
    data = DataSet(
        HOSTILE + "name",
        make_examples(data.examples.inputs, data.examples.labels, class_names=names, names=[HOSTILE] * 60),
        table=Table((Numeric(HOSTILE), Numeric("x"), Categorical("c", (HOSTILE, "other")))),
        notes=(HOSTILE,),
    )
    parsed = assert_self_contained(render_audit(make_audit_report(audit, data, names)))
    # Heat map labels are cut; everything else shows the name in full.
    assert sum(HOSTILE in text for text in parsed.texts) > 10


def test_pictures_are_shown_with_what_they_are_called() -> None:
    audit, data = small(["cat", "dog", "eel"], pictures=True)
    examples = make_examples(
        data.examples.inputs,
        data.examples.labels,
        class_names=["cat", "dog", "eel"],
        names=[f"{row}.jpg" for row in range(60)],
    )
    report = make_audit_report(audit, DataSet("small", examples), ["cat", "dog", "eel"])
    page = render_audit(report)
    assert_self_contained(page)
    assert page.count("<img") == 6 + 6
    assert [suspect.gap for suspect in report.worst] == sorted(
        (suspect.gap for gallery in report.galleries for suspect in gallery.suspects), reverse=True
    )
    shown = [suspect for gallery in report.galleries for suspect in gallery.suspects]
    assert {suspect.index for suspect in shown} == set(range(6))
    for suspect in shown:
        assert suspect.name == f"{suspect.index}.jpg"
        assert suspect.suggested == ["cat", "dog", "eel"][suspect.index % 3]
        assert suspect.given == ["cat", "dog", "eel"][(suspect.index + 1) % 3]


def test_a_thousand_classes_have_a_list_galleries_for_twelve_and_names_for_the_rest() -> None:
    classes, wrong = 1000, 40
    names = [f"class {number}" for number in range(classes)]
    audit, data = small(names, wrong, rows=3000)
    report = make_audit_report(audit, data, names)
    page = render_audit(report)
    parsed = assert_self_contained(page)
    assert report.transition is None
    assert "cell" not in page.split("</style>")[1]
    assert len(report.confusions) == 20
    assert len(report.galleries) == 12
    assert len(report.other_classes) == wrong - 12
    assert len(report.unflagged_classes) == classes - wrong
    assert {"others", "unflagged"} <= set(parsed.ids)
    assert "28 more classes have flagged labels" in parsed.texts
    assert len(page) < 200_000


def test_classes_with_most_flagged_labels_come_first_and_the_worst_within() -> None:
    given, _, probabilities = problem(60, 3, 12)
    probabilities[0] = [0.98, 0.01, 0.01]
    given[1:12] = np.where(np.arange(1, 12) % 3 == 1, given[1:12], (np.arange(1, 12) + 1) % 3)
    data = DataSet("x", make_examples(np.zeros((60, 2)), given))
    report = make_audit_report(audit_probabilities(given, probabilities), data, ["a", "b", "c"])
    counts = [gallery.flagged for gallery in report.galleries]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == len(report.gaps_flagged)
    for gallery in report.galleries:
        gaps = [suspect.gap for suspect in gallery.suspects]
        assert gaps == sorted(gaps, reverse=True)
    worst = next(gallery for gallery in report.galleries if gallery.heading == "b")
    assert worst.suspects[0].index == 0


def test_confusions_are_the_largest_cells_and_agree_with_the_matrix() -> None:
    audit, data = small(["a", "b", "c"], wrong=9)
    report = make_audit_report(audit, data, ["a", "b", "c"])
    found = {(confusion.given, confusion.right): confusion.labels for confusion in report.confusions}
    assert found == pytest.approx({("b", "a"): 3.0, ("c", "b"): 3.0, ("a", "c"): 3.0})
    assert report.transition is not None
    assert report.transition[0, 1] > 0  # right a, given b
    assert report.transition[1, 0] == 0


def test_clean_labels_flag_nothing_and_the_page_says_so() -> None:
    audit, data = small(["a", "b"], wrong=0)
    report = make_audit_report(audit, data, ["a", "b"])
    page = render_audit(report)
    assert_self_contained(page)
    assert report.sentence.startswith("None of 60 labels seems to be wrong, plausibly up to ")
    assert "No label is flagged." in page
    assert 'class="threshold"' not in page
    assert [(gallery.heading, gallery.flagged) for gallery in report.galleries] == [("The largest gaps", 0)]
    assert report.confusions == []


def test_missing_labels_are_counted_and_shown_nowhere() -> None:
    given, right, probabilities = problem(60, 2, 6)
    labels = pd.Series(given).astype(object)
    labels[[0, 30]] = None
    audit = audit_probabilities(labels, probabilities)
    report = make_audit_report(audit, DataSet("x", make_examples(np.zeros((60, 1)), right)), ["a", "b"])
    assert len(report.gaps_kept) + len(report.gaps_flagged) == 58
    assert report.facts["Labels audited"] == "58, 2 more without a label"
    assert "2 examples have no label and were not audited: rows 0, 30." in report.flagged
    assert 0 not in {suspect.index for gallery in report.galleries for suspect in gallery.suspects}
    assert_self_contained(render_audit(report))


def test_labels_that_are_strings_are_shown_by_their_names() -> None:
    given, right, probabilities = problem(60, 3, 6)
    names = ["ant", "bee", "cow"]
    audit = audit_probabilities(np.array(names)[given], probabilities)
    data = DataSet("x", make_examples(np.zeros((60, 1)), right, class_names=names))
    report = make_audit_report(audit, data, names)
    assert {gallery.heading for gallery in report.galleries} == set(names)
    for gallery in report.galleries:
        for suspect in gallery.suspects:
            assert suspect.given == gallery.heading != suspect.suggested
            assert suspect.suggested == names[suspect.index % 3]
    with pytest.raises(InputError, match="sorted order"):
        make_audit_report(audit, data, names[::-1])


def test_what_does_not_belong_together_is_refused() -> None:
    audit, data = small(["a", "b"])
    _, other = small(["a", "b"], rows=61)
    with pytest.raises(InputError, match="60 rows but small has 61 examples"):
        make_audit_report(audit, other, ["a", "b"])
    with pytest.raises(InputError, match="3 class names but 2 classes"):
        make_audit_report(audit, data, ["a", "b", "c"])


def test_runs_bring_their_curves_and_what_was_run(blobs: DataSet) -> None:
    specs = [RunSpec("limit-l", {"beta": beta}, epochs=2, batch_size=16) for beta in (3, 10)]
    runs = train(specs, blobs)
    given, _, probabilities = problem(151, 3, 9)
    audit = audit_probabilities(given, probabilities)
    report = make_audit_report(audit, blobs, ["a", "b", "c"], runs, [False, True])
    parsed = assert_self_contained(render_audit(report))
    assert "curves" in parsed.ids
    assert any("Memorised bits" in text for text in parsed.texts)
    assert report.facts["Epochs"] == "2"
    assert report.facts["Probabilities"] == (
        "mean of classifier and predictor over the second half of the epochs, of limit-l, β\u00a010; "
        "left out for clearly worse validation: limit-l, β\u00a03"
    )
    assert "Noise" not in report.facts  # nobody added any: the labels are as they came
    both = make_audit_report(audit, blobs, ["a", "b", "c"], runs, [True, True])
    assert both.facts["Probabilities"].endswith("of limit-l, β\u00a03; limit-l, β\u00a010")
    assert [run.chosen for run in both.runs] == [True, True]


def test_a_steered_audit_shows_what_was_asked_for() -> None:
    given, _, probabilities = problem(60, 2, 6)
    audit = audit_probabilities(given, probabilities, FlagRule(budget=3))
    data = DataSet("x", make_examples(np.zeros((60, 1)), given))
    report = make_audit_report(audit, data, ["a", "b"], asked="--budget 3")
    assert len(report.gaps_flagged) == 3
    assert "3 labels are flagged, as --budget 3 asks, from a gap of" in report.flagged
    assert "About 6 of 60" in report.sentence


def test_clean_labels_say_how_right_the_audit_is() -> None:
    given, right, probabilities = problem(60, 2, 6)
    data = DataSet("x", make_examples(np.zeros((60, 1)), given, clean_labels=right))
    audit = audit_probabilities(given, probabilities, FlagRule(budget=10))
    known = compare_with_clean_labels(audit, data)
    assert known == GroundTruth(wrong=6, found=6, gap_auc=1.0)
    report = make_audit_report(audit, data, ["a", "b"])
    assert (
        "6 are wrong; of the flagged ones 6 are wrong and 4 right; AUROC of the gap 1.0000." in report.flagged
    )
    assert compare_with_clean_labels(audit, DataSet("x", make_examples(np.zeros((60, 1)), given))) is None


def test_missing_labels_are_in_no_count_of_what_is_known() -> None:
    given, right, probabilities = problem(60, 2, 6)
    labels = pd.Series(given).astype(object)
    labels[0] = None
    data = DataSet("x", make_examples(np.zeros((60, 1)), given, clean_labels=right))
    assert compare_with_clean_labels(audit_probabilities(labels, probabilities), data) == GroundTruth(
        5, 5, 1.0
    )


def test_a_row_of_a_table_is_read_back_from_its_features() -> None:
    table = Table((Numeric("age"), Categorical("town", ("Rome", "Oslo", "")), Numeric("pay")))
    rows = np.array([[30, 0, 1, 0, 2.5], [31, 0, 0, 1, 1e6], [32, 0, 0, 0, -1]], np.float32)
    data = DataSet("t", make_examples(rows, [0, 1, 0]), table=table)
    assert row_columns(data, 0) == [("age", "30"), ("town", "Oslo"), ("pay", "2.5")]
    assert row_columns(data, 1)[1:] == [("town", "missing"), ("pay", "1e+06")]
    assert row_columns(data, 2)[1] == ("town", "–")
    many = DataSet("m", make_examples(np.zeros((2, 50)), [0, 1]))
    assert row_columns(many, 0)[-1] == ("…", "42 more")
    assert len(row_columns(many, 0)) == 9


def test_the_sentence_counts_one_as_one() -> None:
    audit, _ = small(["a", "b"], wrong=1)
    assert re.match(r"About 1 of 60 labels \(1\.7\u00a0%\) is wrong, ", describe_noise_rate(audit.noise_rate))

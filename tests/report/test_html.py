import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from noiselimit.errors import InputError
from noiselimit.report import Report, RunLine, Suspect, render, write_report

MakeReport = Callable[..., Report]
HOSTILE = "<script>alert(1)</script><img src=http://evil.example/x onerror='x'>\x00\ud800"
VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """The page as a browser without script would take it apart; complains about tags left open."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data.strip()))

    def within(self, tag: str) -> list[str]:
        return [text for place, text in self.texts if place == tag]

    @property
    def ids(self) -> set[str | None]:
        return {attributes["id"] for _, attributes in self.tags if "id" in attributes}


def assert_self_contained(page: str) -> None:
    parsed = Page(page)
    for tag, attributes in parsed.tags:
        assert tag not in {"script", "link", "iframe", "object", "embed", "base", "form", "a", "use"}
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in {"href", "xlink:href", "srcset", "style"}
            if name == "src":
                assert str(value).startswith("data:image/png;base64,")
    sheets = " ".join(parsed.within("style"))
    assert "--good" in sheets
    assert not re.search(r"@import|url\(|@font-face|expression", sheets)


def test_ordinary_report_is_self_contained_and_shows_everything(make_report: MakeReport) -> None:
    page = render(make_report())
    assert_self_contained(page)
    parsed = Page(page)
    assert parsed.ids == {"runs", "curves", "gap", "suspects", "facts"}
    assert parsed.within("h1") == ["noiselimit demo"]
    assert "The result." in parsed.within("p")
    assert parsed.within("td")[7:14] == ["10", "0", "98.1\u00a0%", "98.0\u00a0%", "3.1\u00a0%", "0.999", "3"]
    assert parsed.within("span") == ["chosen"]
    assert "digits" in parsed.within("dd")
    policy = [a["content"] for tag, a in parsed.tags if tag == "meta" and "content" in a]
    assert any("default-src 'none'" in str(content) for content in policy)


def test_same_report_same_page(make_report: MakeReport) -> None:
    assert render(make_report()) == render(make_report())


def test_charts_in_the_page_are_xml(make_report: MakeReport) -> None:
    charts = re.findall(r"<svg.*?</svg>", render(make_report()), flags=re.DOTALL)
    labels = [ElementTree.fromstring(chart).get("aria-label") for chart in charts]
    assert labels == [
        "Test accuracy, clean labels, per epoch",
        "Training accuracy, given labels, per epoch",
        "Histogram of the gap of limit-l, β\u00a010, seed\u00a00",
    ]
    assert "right labels: 60\u00a0%" in charts[1]
    assert "right labels: 60" in charts[2]
    assert "wrong labels: 40" in charts[2]
    # Right labels have the gaps below 0.7, wrong ones those above: the colours change once, in the middle.
    bars = re.findall(r'</title><rect class="bar (\w+)"', charts[2])
    assert set(bars) == {"right", "wrong"}
    assert bars == sorted(bars)


def test_hostile_names_are_shown_as_text(make_report: MakeReport, tmp_path: Path) -> None:
    run = RunLine(
        HOSTILE, {HOSTILE: 1.0}, 0, True, history=[{"epoch": 1, "test_accuracy": 0.5}], note=HOSTILE
    )
    suspect = Suspect(0, HOSTILE, HOSTILE + "2", 1.0, "clean " + HOSTILE, values=HOSTILE)
    report = make_report(
        title=HOSTILE, sentence=HOSTILE, runs=[run], suspects=[suspect], facts={HOSTILE: HOSTILE}
    )
    write_report(tmp_path / "report.html", report)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert_self_contained(page)
    shown = HOSTILE.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    parsed = Page(page)
    for tag in ("h1", "p", "th", "span", "bdi", "dt", "dd"):
        assert shown in parsed.within(tag), tag


def test_verdicts_are_counted_and_named(make_report: MakeReport) -> None:
    parsed = Page(render(make_report()))
    assert (
        "The 3 training and validation examples with the largest gap. 2 of 3 given labels are wrong; "
        "1 of 3 suggestions is right."
    ) in parsed.within("p")
    assert [a.get("class") for tag, a in parsed.tags if tag == "li"] == ["found", "half", "right"]
    assert {"suggestion right", "should be", "given label right"} <= set(parsed.within("p"))


def test_unknown_clean_labels(make_report: MakeReport) -> None:
    suspects = [replace(suspect, clean=None) for suspect in make_report().suspects]
    page = render(make_report(gaps_wrong=None, suspects=suspects, wrong_share=None))
    parsed = Page(page)
    assert 'class="bar wrong"' not in page
    assert 'class="bar right"' in page
    assert 'class="legend"' not in page
    assert 'class="reference"' not in page
    assert not any("memorising" in text for text in parsed.within("p"))
    assert "The 3 training and validation examples with the largest gap." in parsed.within("p")
    assert [a.get("class") for tag, a in parsed.tags if tag == "li"] == [None] * 3


def test_nothing_but_a_title() -> None:
    parsed = Page(render(Report("title", "sentence")))
    assert parsed.ids == set()
    assert [text for place, text in parsed.texts if place != "style"] == ["title", "title", "sentence"]


@pytest.mark.parametrize("unknown", [None, float("nan")])
def test_run_without_numbers(make_report: MakeReport, unknown: float | None) -> None:
    rows = [{"epoch": 1, "train_accuracy": unknown, "test_accuracy": unknown}]
    run = RunLine("limit-l", {"beta": 1.0}, 3, True, unknown, unknown, unknown, unknown, None, rows)
    page = render(make_report(runs=[run]))
    assert Page(page).within("td") == ["1", "3", "–", "–", "–", "–"]
    assert Page(page).ids == {"runs", "gap", "suspects", "facts"}
    shown = " ".join(text for place, text in Page(page).texts if place != "style")
    assert not re.search(r"\b(nan|none|inf)\b", shown, flags=re.IGNORECASE)


def test_validation_curve_where_no_test_accuracy_is_known(make_report: MakeReport) -> None:
    rows = [{"epoch": epoch, "validation_accuracy": 0.5, "train_accuracy": 0.4} for epoch in (1, 2)]
    page = render(make_report(runs=[RunLine("limit-l", {"beta": 1.0}, 0, True, history=rows)]))
    assert Page(page).within("h3") == ["Validation accuracy, given labels", "Training accuracy, given labels"]


def test_both_curves_have_the_same_scale(make_report: MakeReport) -> None:
    curves = re.findall(r"<svg.*?</svg>", render(make_report()), flags=re.DOTALL)[:2]
    scales = [re.findall(r'class="tick y"[^>]*>([^<]*)<', curve) for curve in curves]
    assert scales[0] == scales[1]
    # The lowest accuracy of all is 30 %.
    assert scales[0][0] == "20\u00a0%"


def test_hyper_parameters_have_columns_only_if_some_run_has_them(
    make_report: MakeReport, runs: list[RunLine]
) -> None:
    assert Page(render(make_report())).within("th")[:4] == [
        "method",
        "β",
        "seed",
        "test accuracy, chosen epoch",
    ]
    sampled = replace(runs[1], hyper={"beta": 1.0, "sigma": 0.5})
    parsed = Page(render(make_report(runs=[runs[0], sampled])))
    assert parsed.within("th")[:4] == ["method", "β", "σ", "seed"]
    assert parsed.within("td")[:3] == ["–", "–", "0"]


def test_thirty_runs_keep_the_chosen_one_on_top(make_report: MakeReport, runs: list[RunLine]) -> None:
    many = [replace(runs[2], seed=seed) for seed in range(29)] + [runs[1]]
    page = render(make_report(runs=many[::-1]))
    assert page.count("<tr") == 31
    first_chart = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)[0]
    drawn = re.findall(r'<g class="line (\w+)"', first_chart)
    assert drawn == ["faint"] * 29 + ["chosen"]
    assert re.findall(r'class="label (\w+)"', first_chart) == ["chosen"]


def test_features_are_shown_as_text_and_cut(make_report: MakeReport) -> None:
    suspect = Suspect(0, "a", "b", float("nan"), values="1.25, " * 1000)
    parsed = Page(render(make_report(suspects=[suspect])))
    assert not [tag for tag, _ in parsed.tags if tag == "img"]
    [values] = [text for text in parsed.within("p") if text.startswith("1.25, ")]
    assert values.endswith("…")
    assert len(values) <= 160
    assert "gap –" in parsed.within("p")


def test_small_pictures_keep_their_pixels(make_report: MakeReport) -> None:
    small = Suspect(0, "a", "b", 1.0, image=np.zeros((1, 28, 28), np.uint8))
    large = Suspect(1, "a", "b", 1.0, image=np.zeros((3, 100, 100), np.uint8))
    page = render(make_report(suspects=[small, large]))
    classes = [attributes.get("class") for tag, attributes in Page(page).tags if tag == "img"]
    assert classes == ["small", None]
    assert re.search(r"img\.small \{[^}]*image-rendering: pixelated", page)


def test_gaps_that_are_not_numbers_are_counted_apart(make_report: MakeReport) -> None:
    right = np.array([0.1, 0.2, np.nan, 0.3, np.nan])
    page = render(make_report(gaps_right=right, gaps_wrong=np.array([])))
    parsed = Page(page)
    assert "right labels: 3" in page
    facts = dict(zip(parsed.within("dt"), parsed.within("dd"), strict=False))
    assert facts["without a gap"] == "2"
    assert facts["median gap, right labels"] == "0.20"
    assert facts["median gap, wrong labels"] == "–"


def test_size_of_a_full_report(make_report: MakeReport, runs: list[RunLine]) -> None:
    generator = np.random.default_rng(0)
    digits = generator.integers(0, 256, (40, 1, 8, 8)).astype(np.uint8)
    suspects = [Suspect(i, "1", "2", 1.4, "2", digit) for i, digit in enumerate(digits)]
    long = [{"epoch": e, "train_accuracy": 0.5, "test_accuracy": 0.5} for e in range(1, 1001)]
    many = [replace(runs[1], seed=seed, history=long) for seed in range(30)]
    page = render(make_report(suspects=suspects, runs=many))
    assert page.count("data:image/png") == 40
    assert len(page.encode()) < 250_000


def test_write_report_replaces_the_whole_file(make_report: MakeReport, tmp_path: Path) -> None:
    path = tmp_path / "out" / "report.html"
    write_report(path, make_report(title="first"))
    write_report(path, make_report(title="second"))
    assert path.read_text("utf-8") == render(make_report(title="second"))
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]


def test_bad_picture_leaves_the_old_report(make_report: MakeReport, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(path, make_report())
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"shape \[2, 8, 8\]"):
        write_report(path, make_report(suspects=[Suspect(0, "a", "b", 1.0, image=np.zeros((2, 8, 8)))]))
    assert path.read_bytes() == before

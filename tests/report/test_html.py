"""The page about runs: self-contained, complete, and names from data stay text."""

import base64
import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from noiselimit.report.content import Report, RunLine, Suspect
from noiselimit.report.html import data_uri, memorisation_curve, render, write_report
from tests.pages import Page, run_line

MakeReport = Callable[..., Report]
HOSTILE = "<script>alert(1)</script><img src=http://evil.example/x onerror='x'>\x00\ud800"


def test_the_page_shows_everything(make_report: MakeReport) -> None:
    page = render(make_report())
    parsed = Page(page)
    assert parsed.ids == {"runs", "curves", "gap", "suspects", "facts"}
    assert parsed.within("h1") == ["noiselimit demo"]
    assert "The result." in parsed.within("p")
    assert parsed.within("td")[7:14] == ["10", "0", "98.1\u00a0%", "98.0\u00a0%", "3.1\u00a0%", "0.999", "3"]
    assert parsed.within("span") == ["chosen"]
    assert "digits" in parsed.within("dd")
    assert [a.get("class") for tag, a in parsed.tags if tag == "li"] == ["found", "half", "right"]
    assert any("default-src 'none'" in str(a.get("content")) for tag, a in parsed.tags if tag == "meta")
    assert render(make_report()) == page


def test_charts_in_the_page(make_report: MakeReport) -> None:
    charts = re.findall(r"<svg.*?</svg>", render(make_report()), flags=re.DOTALL)
    labels = [ElementTree.fromstring(chart).get("aria-label") for chart in charts]
    assert labels == [
        "Test accuracy, clean labels, per epoch",
        "Training accuracy, given labels, per epoch",
        "Histogram of the gap",
    ]
    assert "right labels: 60\u00a0%" in charts[1]
    assert "wrong labels: 40" in charts[2]
    # Right labels have gaps below 0.7, wrong ones above, so the colour changes once.
    bars = re.findall(r'</title><rect class="bar (\w+)"', charts[2])
    assert bars == sorted(bars)
    scales = [re.findall(r'class="tick y"[^>]*>([^<]*)<', curve) for curve in charts[:2]]
    assert scales[0] == scales[1]
    assert scales[0][0] == "20\u00a0%"


def test_hostile_names_are_shown_as_text(make_report: MakeReport, tmp_path: Path) -> None:
    history = [{"epoch": 1, "test_accuracy": 0.5}]
    run = run_line(HOSTILE, {HOSTILE: 1.0}, 0, True, history, {HOSTILE: HOSTILE}, failure=HOSTILE)
    suspect = Suspect(0, HOSTILE, HOSTILE + "2", 1.0, "clean " + HOSTILE, columns=[(HOSTILE, HOSTILE)])
    facts = {HOSTILE: HOSTILE}
    report = make_report(title=HOSTILE, sentence=HOSTILE, runs=[run], suspects=[suspect], facts=facts)
    write_report(tmp_path / "report.html", report)
    parsed = Page((tmp_path / "report.html").read_text("utf-8"))
    shown = HOSTILE.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    for tag in ("h1", "p", "th", "span", "bdi", "dt", "dd"):
        assert shown in parsed.within(tag), tag


def test_unknown_clean_labels(make_report: MakeReport) -> None:
    suspects = [replace(suspect, clean=None) for suspect in make_report().suspects]
    page = render(make_report(scores={"examples": np.ones(9)}, suspects=suspects, wrong_share=None))
    assert 'class="bar right"' in page
    for name in ("bar wrong", "legend", "reference"):
        assert f'class="{name}"' not in page
    assert [a.get("class") for tag, a in Page(page).tags if tag == "li"] == [None] * 3


def test_a_report_with_only_a_title() -> None:
    parsed = Page(render(Report("title", "sentence")))
    assert parsed.ids == set()
    assert [text for place, text in parsed.texts if place != "style"] == ["title", "title", "sentence"]


@pytest.mark.parametrize("unknown", [None, float("nan")])
def test_a_run_without_numbers(make_report: MakeReport, unknown: float | None) -> None:
    rows = [{"epoch": 1, "train_accuracy": unknown, "test_accuracy": unknown}]
    run = run_line("limit-l", {"beta": 1.0}, 3, True, rows, test_accuracy=unknown, gap_auc=unknown)
    parsed = Page(render(make_report(runs=[run])))
    assert parsed.within("td") == ["1", "3", "–", "–", "–", "–", "–"]
    assert parsed.ids == {"runs", "gap", "suspects", "facts"}
    shown = " ".join(text for place, text in parsed.texts if place != "style")
    assert not re.search(r"\b(nan|none|inf)\b", shown, flags=re.IGNORECASE)


def test_validation_curve_if_test_accuracy_is_unknown(make_report: MakeReport) -> None:
    rows = [{"epoch": epoch, "validation_accuracy": 0.5, "train_accuracy": 0.4} for epoch in (1, 2)]
    page = render(make_report(runs=[run_line("limit-l", {"beta": 1.0}, history=rows)]))
    assert Page(page).within("h3") == ["Validation accuracy, given labels", "Training accuracy, given labels"]


def memorising(bits: list[float | None], entropy: float | None) -> RunLine:
    history = [
        {"epoch": epoch, "memorised_bits": value, "noise_entropy": entropy}
        for epoch, value in enumerate(bits, 1)
    ]
    return run_line("ce", history=history)


def test_memorised_bits_are_drawn_with_the_entropy_of_the_noise() -> None:
    [(heading, svg)] = memorisation_curve(
        Report("t", "s", [memorising([0.0, 1.0], 3.2), memorising([0.0, 0.0], 3.25)])
    )
    assert "3.25" in svg
    assert heading in render(Report("t", "s", [memorising([0.0, 1.0], 3.2)]))
    [(_, svg)] = memorisation_curve(Report("t", "s", [memorising([0.1], 1.0), memorising([0.2], 2.0)]))
    assert 'class="reference"' not in svg  # no common level
    assert memorisation_curve(Report("t", "s", [memorising([None, None], None)])) == []


def test_a_report_is_replaced_as_a_whole_or_not_at_all(make_report: MakeReport, tmp_path: Path) -> None:
    path = tmp_path / "out" / "report.html"
    write_report(path, make_report(title="first"))
    write_report(path, make_report(title="second"))
    assert path.read_text("utf-8") == render(make_report(title="second"))
    with pytest.raises(TypeError):
        write_report(path, make_report(suspects=[Suspect(0, "a", "b", 1.0, image=np.zeros((5, 8, 8)))]))
    assert path.read_text("utf-8") == render(make_report(title="second"))
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]


def decode(uri: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",", 1)[1], validate=True))))


sides = st.integers(1, 12)


@given(arrays.arrays(np.uint8, st.tuples(st.just(3), sides, sides)))
def test_pictures_come_back_unchanged(image: np.ndarray) -> None:
    np.testing.assert_array_equal(decode(data_uri(image)), image.transpose(1, 2, 0))
    np.testing.assert_array_equal(decode(data_uri(image[:1])), image[0])


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ([[0.0, 0.2], [0.4, 0.6]], [[0, 51], [102, 153]]),
        ([[-1.0, -1.0], [1.0, 0.2]], [[0, 0], [255, 153]]),
        ([[0, 16], [8, 4]], [[0, 255], [128, 64]]),
        ([[np.nan, np.nan]], [[0, 0]]),
        ([[7.0, 7.0]], [[0, 0]]),
    ],
)
def test_other_numbers_are_scaled(image: list[list[float]], expected: list[list[int]]) -> None:
    np.testing.assert_array_equal(decode(data_uri(np.array([image]))), expected)


def test_large_pictures_are_reduced() -> None:
    large = data_uri(np.full((3, 320, 640), 77, np.uint8))
    assert large.startswith("data:image/jpeg")
    assert decode(large).shape == (80, 160, 3)
    assert np.abs(decode(large).astype(int) - 77).max() <= 2

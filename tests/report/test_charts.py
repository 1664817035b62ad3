import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from drawn import SVG, number, of_class, points, tick_places
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.report.charts import HEIGHT, WIDTH, Bars, Line, histogram, line_chart

HOSTILE = "</title><script>alert('1')</script>&\"\x00\ud800"


def lines_svg(lines: list[Line], **options: Any) -> ElementTree.Element:
    return ElementTree.fromstring(
        line_chart(lines, title="accuracy", x_label="epoch", y_label="share", **options)
    )


def test_points_land_at_the_ticks_of_their_values() -> None:
    line = Line("a", [(1, 0.0), (10, 0.2), (20, 1.0), (21, 0.6)], "chosen", mark=20)
    root = lines_svg([line])
    x, y = tick_places(root)
    [drawn] = [points(polyline) for polyline in root.iter(SVG + "polyline")]
    assert drawn[1] == pytest.approx((x["10"], y["20\u00a0%"]), abs=0.11)
    assert drawn[2] == pytest.approx((x["20"], y["100\u00a0%"]), abs=0.11)
    assert drawn[3][1] == pytest.approx(y["60\u00a0%"], abs=0.11)
    assert drawn[0][1] == pytest.approx(y["0\u00a0%"], abs=0.11)
    [mark] = of_class(root, "circle", "mark")
    assert (number(mark, "cx"), number(mark, "cy")) == pytest.approx(drawn[2], abs=0.11)


def test_logarithmic_axes_and_given_ticks() -> None:
    line = Line("a", [(1, 0.1), (8, 0.02), (64, 0.01)], "chosen")
    options = {"y_span": (0.01, 1.0), "y_format": lambda value: f"{value:g}"}
    root = lines_svg([line], log=True, x_ticks=[1, 8, 64], **options)
    x, y = tick_places(root)
    assert {"1", "8", "64"} <= set(x)
    assert x["8"] - x["1"] == pytest.approx(x["64"] - x["8"], abs=0.11)
    assert y["0.01"] - y["0.1"] == pytest.approx(y["0.1"] - y["1"], abs=0.21)
    [drawn] = [points(polyline) for polyline in root.iter(SVG + "polyline")]
    assert drawn[1] == pytest.approx((x["8"], y["0.02"]), abs=0.11)


def test_missing_values_break_the_line() -> None:
    ys = [0.1, 0.2, None, 0.3, float("nan"), 0.4, 0.5]
    root = lines_svg([Line("a", list(enumerate(ys)))])
    assert [len(points(p)) for p in root.iter(SVG + "polyline")] == [2, 2]
    assert len(of_class(root, "circle", "lone")) == 1


def test_only_lines_that_stand_out_are_labelled_and_seeds_share_a_label() -> None:
    end = [(1, 0.5), (2, 0.6)]
    lines = [
        Line("limit-l", end, "chosen"),
        Line("ce", end, "baseline"),
        Line("ce", [(1, 0.5), (2, 0.8)], "baseline"),
        Line("limit-g", end, "faint"),
    ]
    root = lines_svg(lines)
    assert [t.text for t in of_class(root, "text", "label")] == ["limit-l", "ce"]
    # What is drawn last lies on top.
    assert [g.get("class") for g in root.iter(SVG + "g")] == [
        "line faint",
        "line baseline",
        "line baseline",
        "line chosen",
    ]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_labels_neither_overlap_nor_leave_the_picture(ends: list[float]) -> None:
    lines = [Line(f"method-{i:02d}, β 0.001", [(1, 0.5), (2, y)], "baseline") for i, y in enumerate(ends)]
    labels = of_class(lines_svg(lines), "text", "label")
    heights = sorted(number(label, "y") for label in labels)
    assert 1 <= len(labels) <= len(ends)
    assert all(b - a >= 14.8 for a, b in pairwise(heights))
    assert heights[0] >= 12
    assert heights[-1] <= HEIGHT
    assert all(number(label, "x") + 6 * len(label.text or "") <= WIDTH for label in labels)


def test_reference_level() -> None:
    line = Line("a", [(1, 0.4), (2, 0.8)])
    root = lines_svg([line], reference=(0.6, "right labels"))
    [level] = of_class(root, "line", "reference")
    assert number(level, "y1") == pytest.approx(tick_places(root)[1]["60\u00a0%"], abs=0.11)
    assert "right labels" in "".join(root.itertext())
    outside = lines_svg([line], reference=(0.2, "right labels"), y_span=(0.4, 1.0))
    assert not of_class(outside, "line", "reference")


def test_long_histories_are_thinned_but_keep_both_ends() -> None:
    line = Line("a", [(epoch, epoch / 5000) for epoch in range(1, 5001)])
    root = lines_svg([line])
    [drawn] = [points(p) for p in root.iter(SVG + "polyline")]
    axis = of_class(root, "line", "axis")[0]
    assert len(drawn) <= 201
    assert drawn[0][0] == number(axis, "x1")
    assert drawn[-1][0] == number(axis, "x2")


def test_single_epoch_is_a_point_in_the_plot() -> None:
    root = lines_svg([Line("a", [(1, 0.5)], "chosen")])
    [dot] = of_class(root, "circle", "lone")
    x, _ = tick_places(root)
    assert number(dot, "cx") == pytest.approx(x["1"], abs=0.11)


@pytest.mark.parametrize("ys", [[], [None, None], [float("nan")]])
def test_no_values_say_so(ys: list[float | None]) -> None:
    root = lines_svg([Line("a", list(enumerate(ys)), "chosen")])
    assert "no values were recorded" in "".join(root.itertext())
    assert not list(root.iter(SVG + "polyline"))


CHARTS: list[Callable[..., str]] = [
    lambda text, **options: line_chart(
        [Line(text, [(1, 0.5), (2, 0.6)], "chosen", text)],
        title=text,
        x_label=text,
        y_label=text,
        reference=(0.5, text),
        **options,
    ),
    lambda text, **options: histogram(
        [Bars(text, np.array([0.1])), Bars(text, np.array([0.9]), "wrong")],
        title=text,
        x_label=text,
        y_label=text,
        span=(0.0, 1.0),
        **options,
    ),
]


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("standalone", [False, True])
def test_names_are_text_never_markup(chart: Callable[..., str], standalone: bool) -> None:
    svg = chart(HOSTILE, standalone=standalone)
    root = ElementTree.fromstring(svg)
    assert not list(root.iter(SVG + "script"))
    assert "<script" not in svg
    shown = HOSTILE.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    assert root.get("aria-label") == shown
    assert root.findtext(SVG + "title") == shown
    assert sum(t.text == shown for t in root.iter(SVG + "text")) >= 2


@pytest.mark.parametrize("chart", CHARTS)
def test_accessible_and_styled_by_itself_only_when_standalone(chart: Callable[..., str]) -> None:
    inside, alone = (ElementTree.fromstring(chart("a chart", standalone=s)) for s in (False, True))
    for root in (inside, alone):
        assert root.get("role") == "img"
        assert root.get("aria-label") == "a chart"
        assert root[0].tag == SVG + "title"
    assert inside.find(SVG + "style") is None
    assert inside.get("width") is None
    style = alone.findtext(SVG + "style", "")
    assert "prefers-color-scheme: dark" in style
    assert alone.get("width") == str(WIDTH)
    used = {n for e in alone.iter() for n in e.get("class", "").split()}
    colours = {"chosen", "right", "wrong", "reference"} & used
    assert colours
    assert all(re.search(rf"\.{name}\b[^}}]*(fill|stroke): var\(", style) for name in colours)


def test_long_labels_that_differ_at_the_end_stay_apart() -> None:
    names = [f"ce, noise uniform:0.{digit}, learning rate 0.001" for digit in (2, 6)]
    lines = [Line(name, [(1, 0.3 * i), (2, 0.3 * i)], "baseline") for i, name in enumerate(names, 1)]
    svg = line_chart(lines, title="t", x_label="x", y_label="y")
    assert svg.count('<text class="label baseline"') == 2


def test_a_label_can_stand_on_its_line() -> None:
    beside = Line("end", [(0, 0.5), (2, 0.0)], "chosen")
    root = lines_svg([Line("on it", [(0, 1.0), (1, 0.5), (2, 0.0)], "chosen", label_at=1), beside])
    [label] = of_class(root, "text", "on-line")
    [line, _] = of_class(root, "g", "line")
    x, y = points(line.findall(f"{SVG}polyline")[0])[1]
    assert (label.text, number(label, "x"), number(label, "y")) == ("on it", x, pytest.approx(y + 4))
    assert [text.text for text in of_class(root, "text", "label") if text is not label] == ["end"]


def test_a_dashed_line_is_told_from_one_of_its_colour() -> None:
    ends = [(1, 0.2), (2, 0.4)]
    root = lines_svg([Line("a", ends, "chosen"), Line("b", ends, "chosen", dashed=True)])
    plain, dashed = (line[-1].get("stroke-dasharray") for line in of_class(root, "g", "line"))
    assert plain is None
    assert dashed


def test_before_its_label_stands_a_sample_of_a_line_where_looks_tell_lines_apart() -> None:
    ends = [(1, 0.2), (2, 0.4)]
    alike = [Line("a", ends, "chosen"), Line("b", ends, "baseline")]
    assert not of_class(lines_svg(alike), "g", "sample")
    root = lines_svg([*alike, Line("c", ends, "chosen", dashed=True, strength=0.5)])
    samples = of_class(root, "g", "sample")
    assert [(one.get("class"), one.get("opacity"), one[0].get("stroke-dasharray")) for one in samples] == [
        ("sample chosen", None, None),
        ("sample chosen", "0.50", "6 4"),
        ("sample baseline", None, None),
    ]
    for sample, label in zip(samples, of_class(root, "text", "label"), strict=True):
        assert points(sample[0])[-1][0] < number(label, "x") <= WIDTH - 7


def test_ticks_of_high_shares_stand_where_lines_do() -> None:
    line = Line("a", [(1, 0.0), (2, 0.9), (3, 0.98)], "chosen")
    root = lines_svg([line], y_span=(0.0, 0.98), to_one=True)
    _, y = tick_places(root)
    assert set(y) == {f"{share}\u00a0%" for share in (0, 50, 80, 90, 95, 98)}
    [drawn] = [points(polyline) for polyline in root.iter(SVG + "polyline")]
    wanted = [y[f"{share}\u00a0%"] for share in (0, 90, 98)]
    assert [place for _, place in drawn] == pytest.approx(wanted, abs=0.11)

"""Charts as SVG: values at the right place, hover text, and names that stay text."""

import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from noiselimit.report.charts import (
    HEIGHT,
    WIDTH,
    Line,
    heat_map,
    histogram,
    histogram_counts,
    line_chart,
    ticks,
)

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title><script>alert('1')</script>&\"\x00\ud800"
Element = ElementTree.Element


def of_class(root: Element, tag: str, *names: str) -> list[Element]:
    return [e for e in root.iter(SVG + tag) if set(names) <= set(e.get("class", "").split())]


def number(element: Element, name: str) -> float:
    return float(element.get(name, "nan"))


def points(polyline: Element) -> list[tuple[float, float]]:
    pairs = [pair.split(",") for pair in polyline.get("points", "").split()]
    return [(float(x), float(y)) for x, y in pairs]


def tick_places(root: Element) -> tuple[dict[str, float], dict[str, float]]:
    """x of the ticks below the axis and y of those beside it."""
    below = {t.text or "": number(t, "x") for t in of_class(root, "text", "tick", "x") if t.get("x")}
    beside = [t.text or "" for t in of_class(root, "text", "tick", "y")]
    return below, dict(
        zip(beside, [number(line, "y1") for line in of_class(root, "line", "grid")], strict=True)
    )


def lines_svg(lines: list[Line], **options: Any) -> Element:
    return ElementTree.fromstring(line_chart(lines, title="t", x_label="epoch", y_label="share", **options))


def bars_svg(series: dict[str, np.ndarray], **options: Any) -> Element:
    options = {"title": "gap", "x_label": "gap", "y_label": "examples", "span": (0.0, 1.5), **options}
    return ElementTree.fromstring(histogram(series, **options))


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 10))
def test_ticks_are_few_and_inside(low: float, length: float, most: int) -> None:
    found = ticks(low, low + length, most)
    assert 1 <= len(found) <= most
    slack = 1e-8 * length + 1e-6
    assert all(low - slack <= tick <= low + length + slack for tick in found)


def test_points_land_at_the_ticks_of_their_values() -> None:
    root = lines_svg([Line("a", [(1, 0.0), (10, 0.2), (20, 1.0), (21, 0.6)], "chosen", mark=20)])
    x, y = tick_places(root)
    [drawn] = [points(polyline) for polyline in root.iter(SVG + "polyline")]
    assert drawn[1] == pytest.approx((x["10"], y["20\u00a0%"]), abs=0.11)
    assert drawn[2] == pytest.approx((x["20"], y["100\u00a0%"]), abs=0.11)
    [mark] = of_class(root, "circle", "mark")
    assert (number(mark, "cx"), number(mark, "cy")) == pytest.approx(drawn[2], abs=0.11)


def test_logarithmic_axes_and_given_ticks() -> None:
    line = Line("a", [(1, 0.1), (8, 0.01), (64, 0.01)], "chosen")
    root = lines_svg([line], log=True, x_ticks=[1, 8, 64], y_span=(0.01, 1.0), y_format=lambda v: f"{v:g}")
    x, y = tick_places(root)
    assert x["8"] - x["1"] == pytest.approx(x["64"] - x["8"], abs=0.11)
    assert y["0.01"] - y["0.1"] == pytest.approx(y["0.1"] - y["1"], abs=0.21)
    [drawn] = [points(polyline) for polyline in root.iter(SVG + "polyline")]
    assert drawn[1] == pytest.approx((x["8"], y["0.01"]), abs=0.11)


def test_missing_values_break_lines_and_long_lines_are_thinned() -> None:
    root = lines_svg([Line("a", list(enumerate([0.1, 0.2, None, 0.3, float("nan"), 0.4, 0.5])))])
    assert [len(points(p)) for p in root.iter(SVG + "polyline")] == [2, 2]
    assert len(of_class(root, "circle", "lone")) == 1
    root = lines_svg([Line("a", [(epoch, epoch / 5000) for epoch in range(1, 5001)], mark=777)])
    assert len(of_class(root, "circle", "mark")) == 1
    [drawn] = [points(p) for p in root.iter(SVG + "polyline")]
    axis = of_class(root, "line", "axis")[0]
    assert len(drawn) <= 201
    assert (drawn[0][0], drawn[-1][0]) == (number(axis, "x1"), number(axis, "x2"))
    assert not list(lines_svg([Line("a", [(1, None)])]).iter(SVG + "polyline"))


def test_only_lines_that_stand_out_are_labelled_and_seeds_share_a_label() -> None:
    end = [(1, 0.5), (2, 0.6)]
    lines = [Line("limit-l", end, "chosen"), Line("ce", end, "baseline"), Line("ce", end, "baseline")]
    root = lines_svg([*lines, Line("limit-g", end, dashed=True, strength=0.5)])
    assert [t.text for t in of_class(root, "text", "label")] == ["limit-l", "ce"]
    looks = [(g.get("class") or "").split()[-1] for g in root.iter(SVG + "g")]
    assert looks == ["faint", "baseline", "baseline", "chosen"]  # the last one lies on top
    first = of_class(root, "g", "faint")[0]
    assert (first.get("opacity"), first[1].get("stroke-dasharray")) == ("0.50", "6 4")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_labels_neither_overlap_nor_leave_the_picture(ends: list[float]) -> None:
    lines = [Line(f"method-{i:02d}, β 0.001", [(1, 0.5), (2, y)], "baseline") for i, y in enumerate(ends)]
    labels = of_class(lines_svg(lines), "text", "label")
    heights = sorted(number(label, "y") for label in labels)
    assert all(b - a >= 14.8 for a, b in pairwise(heights))
    assert 12 <= heights[0] <= heights[-1] <= HEIGHT
    assert all(number(label, "x") + 6 * len(label.text or "") <= WIDTH for label in labels)


def test_reference_level_and_label_on_a_line() -> None:
    line = Line("on it", [(0, 0.8), (1, 0.6), (2, 0.4)], "chosen", label_at=1)
    root = lines_svg([line], reference=(0.6, "right labels"))
    [level], [label] = of_class(root, "line", "reference"), of_class(root, "text", "on-line")
    assert number(level, "y1") == pytest.approx(tick_places(root)[1]["60\u00a0%"], abs=0.11)
    assert number(label, "y") == pytest.approx(number(level, "y1") + 4, abs=0.11)
    assert not of_class(lines_svg([line], reference=(0.2, ""), y_span=(0.4, 1.0)), "line", "reference")


values = arrays.arrays(np.float64, st.integers(1, 60), elements=st.floats(-0.1, 1.6))


@given(values, values)
def test_hover_texts_count_every_example(right: np.ndarray, wrong: np.ndarray) -> None:
    root = bars_svg({"r": right, "w": wrong})
    titles = [t.text or "" for g in root.iter(SVG + "g") for t in g.iter(SVG + "title")]
    found = [re.fullmatch(r".*: (\d+) r, (\d+) w", title) for title in titles]
    totals = np.array([[int(m[1]), int(m[2])] for m in found if m]).sum(axis=0)
    assert totals.tolist() == [len(right), len(wrong)]


def test_values_outside_the_span_go_to_the_end_bins_and_nan_is_left_out() -> None:
    gaps = np.array([-1e-9, 0.0, 1.5, 1.5 + 1e-7, np.nan, np.inf])
    assert histogram_counts(gaps, 4, (0.0, 1.5)).tolist() == [2, 0, 0, 2]
    assert bars_svg({"r": np.array([np.nan])}) is not None


def test_bars_are_as_high_as_their_counts_and_stacked() -> None:
    root = bars_svg({"r": np.full(40, 0.01), "w": np.full(20, 0.02)}, bins=10)
    [lower, upper] = [bar for g in root.iter(SVG + "g") for bar in of_class(g, "rect", "bar") if len(g) == 3]
    _, y = tick_places(root)
    assert number(lower, "y") == pytest.approx(y["40"], abs=0.11)
    assert number(upper, "y") == pytest.approx(y["60"], abs=0.11)
    [legend] = of_class(root, "g", "legend")
    assert list(legend.itertext()) == ["r", "w"]
    rare = bars_svg({"r": np.array([0.01] * 5000 + [1.3])})
    assert min(number(rect, "height") for rect in of_class(rare, "rect", "bar")) >= 1.0


@pytest.mark.parametrize(("threshold", "lines"), [(0.25, 1), (1.25, 1), (1.6, 0)])
def test_a_threshold_is_marked_inside_the_span(threshold: float, lines: int) -> None:
    root = bars_svg({"all": np.linspace(0, 1, 9)}, threshold=(threshold, "here <"))
    assert len(of_class(root, "line", "threshold")) == "".join(root.itertext()).count("here <") == lines


def cells(svg: str) -> list[tuple[str, float]]:
    found = re.findall(r'class="cell (\w+)".*?fill-opacity="([\d.]+)"', svg)
    return [(kind, float(strength)) for kind, strength in found]


def test_cells_of_a_heat_map_are_in_the_order_of_the_matrix() -> None:
    svg = heat_map(np.array([[0.9, 0.1], [0.025, 0.975]]), ["cat", "dog"])
    assert [kind for kind, _ in cells(svg)] == ["right", "wrong", "wrong", "right"]
    # Off the diagonal, a quarter of the largest share has half its strength.
    assert [strength for _, strength in cells(svg)] == pytest.approx([0.54, 0.6, 0.3, 0.585])
    assert "true label cat, given label dog: 10.00\u00a0%" in svg
    assert re.findall(r'class="share x"[^>]*>([^<]*)<', svg) == ["90", "10", "2.5", "98"]
    assert {strength for kind, strength in cells(heat_map(np.eye(3), "abc")) if kind == "wrong"} == {0.0}


@given(st.integers(2, 30), st.text(max_size=40))
def test_a_heat_map_fits_its_frame_for_any_name(classes: int, name: str) -> None:
    root = ElementTree.fromstring(
        heat_map(np.full((classes, classes), 1 / classes), [name + HOSTILE] * classes)
    )
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    rectangles = of_class(root, "rect", "cell")
    assert len(rectangles) == classes**2
    assert max(number(r, "x") + number(r, "width") for r in rectangles) <= width
    assert max(number(r, "y") + number(r, "height") for r in rectangles) <= height
    assert not list(root.iter(f"{SVG}script"))


@pytest.mark.parametrize("standalone", [False, True])
def test_names_stay_text_and_standalone_charts_have_a_style(standalone: bool) -> None:
    words: dict[str, Any] = dict.fromkeys(("title", "x_label", "y_label"), HOSTILE)
    line = Line(HOSTILE, [(1, 0.5), (2, 0.6)], "chosen", HOSTILE)
    chart = line_chart([line], reference=(0.5, HOSTILE), standalone=standalone, **words)
    bars = histogram({HOSTILE: np.array([0.1]), "w": np.array([0.9])}, span=(0.0, 1.0), **words)
    shown = HOSTILE.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    for root in map(ElementTree.fromstring, (chart, bars)):
        assert not list(root.iter(SVG + "script"))
        assert root.get("aria-label") == root.findtext(SVG + "title") == shown
        assert sum(t.text == shown for t in root.iter(SVG + "text")) >= 2
    root = ElementTree.fromstring(chart)
    assert ("prefers-color-scheme: dark" in root.findtext(SVG + "style", "")) == standalone
    assert (root.get("width") is not None) == standalone

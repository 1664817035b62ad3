import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from drawn import SVG, number, of_class, tick_places
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from noiselimit.report.charts import Bars, histogram, histogram_counts

ROOT_2 = float(np.sqrt(2))


def bars_svg(series: list[Bars], **options: Any) -> ElementTree.Element:
    settings: dict[str, Any] = {
        "title": "gap",
        "x_label": "gap",
        "y_label": "examples",
        "span": (0.0, ROOT_2),
    } | options
    return ElementTree.fromstring(histogram(series, **settings))


values = arrays.arrays(np.float64, st.integers(0, 60), elements=st.floats(-0.1, 1.6))


@given(values, st.integers(1, 40))
def test_counts_conserve_the_examples(gaps: np.ndarray, bins: int) -> None:
    counts = histogram_counts(gaps, bins, (0.0, ROOT_2))
    assert counts.shape == (bins,)
    assert counts.sum() == len(gaps)


@given(values, values)
def test_bars_conserve_the_examples(right: np.ndarray, wrong: np.ndarray) -> None:
    root = bars_svg([Bars("r", right, "right"), Bars("w", wrong, "wrong")])
    titles = [t.text or "" for g in root.iter(SVG + "g") for t in g.iter(SVG + "title")]
    pairs = [re.fullmatch(r".*: (\d+) r, (\d+) w", title) for title in titles]
    found = np.array([[int(m[1]), int(m[2])] for m in pairs if m], dtype=int).reshape(-1, 2)
    assert len(found) == len(titles)
    assert found.sum(axis=0).tolist() == [len(right), len(wrong)]


def test_rounding_beyond_the_span_and_nan() -> None:
    gaps = np.array([-1e-9, 0.0, ROOT_2, ROOT_2 + 1e-7, np.nan, np.inf], dtype=np.float64)
    assert histogram_counts(gaps, 4, (0.0, ROOT_2)).tolist() == [2, 0, 0, 2]
    assert histogram_counts(gaps.astype(np.float32), 4, (0.0, ROOT_2)).tolist() == [2, 0, 0, 2]


def test_bars_are_as_high_as_their_counts_and_stacked() -> None:
    right, wrong = np.full(40, 0.01), np.full(20, 0.02)
    root = bars_svg([Bars("r", right, "right"), Bars("w", wrong, "wrong")], bins=10)
    [lower, upper] = [r for g in root.iter(SVG + "g") if g.find(SVG + "title") is not None for r in g[1:]]
    _, y = tick_places(root)
    assert number(lower, "y") == pytest.approx(y["40"], abs=0.11)
    assert number(upper, "y") == pytest.approx(y["60"], abs=0.11)
    assert number(lower, "y") + number(lower, "height") == pytest.approx(y["0"], abs=0.11)
    assert [r.get("class") for r in (lower, upper)] == ["bar right", "bar wrong"]


def test_one_example_among_thousands_is_still_visible() -> None:
    root = bars_svg([Bars("r", np.array([0.01] * 5000 + [1.3]))])
    assert min(number(rect, "height") for rect in of_class(root, "rect", "bar")) >= 1.0


def test_legend_only_for_several_series() -> None:
    some = np.array([0.1])
    assert not of_class(bars_svg([Bars("right labels", some)]), "g", "legend")
    [legend] = of_class(bars_svg([Bars("right labels", some), Bars("wrong labels", some)]), "g", "legend")
    assert list(legend.itertext()) == ["right labels", "wrong labels"]


def test_empty_histogram_says_so() -> None:
    root = bars_svg([Bars("r", np.array([np.nan]))])
    assert "no values were recorded" in "".join(root.itertext())


@given(values, values)
def test_on_a_logarithmic_axis_outlines_are_as_high_as_their_counts(
    right: np.ndarray, wrong: np.ndarray
) -> None:
    root = bars_svg([Bars("r", right, "right"), Bars("w", wrong, "wrong")], bins=8, log=True)
    if len(right) + len(wrong) == 0:
        assert "no values were recorded" in "".join(root.itertext())
        return
    foot = number(of_class(root, "line", "axis")[0], "y1")
    one = tick_places(root)[1]["1"]
    for kind, gaps in (("right", right), ("wrong", wrong)):
        [outline] = of_class(root, "path", "step", kind)
        counts = histogram_counts(gaps, 8, (0.0, ROOT_2))
        tops = [float(top) for top in re.findall(r"V([\d.]+)H", outline.get("d", ""))]
        # Half an example is at the foot, so that the way from there to one is that of every doubling.
        expected = [foot - (foot - one) * np.log2(2 * count) for count in counts if count]
        assert tops == pytest.approx(expected, abs=0.4)


def test_a_logarithmic_axis_names_its_powers_and_shows_one_example_among_thousands() -> None:
    root = bars_svg([Bars("r", np.array([0.01] * 50_000 + [1.3]))], log=True)
    _, heights = tick_places(root)
    assert list(heights) == ["1", "10", "100", "1,000", "10,000"]
    foot = number(of_class(root, "line", "axis")[0], "y1")
    assert foot - heights["1"] > 5
    [outline] = of_class(root, "path", "step")
    assert outline.get("d", "").count("M") == 2, "no line along the empty bins between"


def test_the_legend_has_the_look_of_what_it_names() -> None:
    some = np.array([0.1])
    for log, look in ((False, "bar"), (True, "step")):
        [legend] = of_class(bars_svg([Bars("r", some), Bars("w", some, "wrong")], log=log), "g", "legend")
        assert [rect.get("class") for rect in legend.iter(SVG + "rect")] == [f"{look} right", f"{look} wrong"]

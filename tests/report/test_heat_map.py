import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.report import Bars
from noiselimit.report import charts as heat_map
from noiselimit.report import charts as histogram

HOSTILE = "<script>alert(1)</script>&\x00"


def cells(svg: str) -> list[tuple[str, float]]:
    """(colour, strength) in the order of the rows."""
    return [
        (kind, float(strength))
        for kind, strength in re.findall(r'class="cell (\w+)".*?fill-opacity="([\d.]+)"', svg)
    ]


def test_cells_stand_in_the_order_of_the_matrix_and_say_which_they_are() -> None:
    svg = heat_map(np.array([[0.9, 0.1], [0.025, 0.975]]), ["cat", "dog"])
    assert [kind for kind, _ in cells(svg)] == ["right", "wrong", "wrong", "right"]
    strengths = [strength for _, strength in cells(svg)]
    # The largest share off the diagonal is strongest; a quarter of it has half the strength.
    assert strengths == pytest.approx([0.54, 0.6, 0.3, 0.585])
    assert "right label cat, given label dog: 10.00\u00a0%" in svg
    assert "right label dog, given label cat: 2.50\u00a0%" in svg
    assert re.findall(r'class="share x"[^>]*>([^<]*)<', svg) == ["90", "10", "2.5", "98"]


def test_no_noise_has_no_colour_off_the_diagonal() -> None:
    assert [strength for kind, strength in cells(heat_map(np.eye(3), "abc")) if kind == "wrong"] == [0.0] * 6


@given(st.integers(2, 30), st.text(max_size=40))
def test_any_size_and_any_name_is_xml_inside_its_frame(classes: int, name: str) -> None:
    svg = heat_map(np.full((classes, classes), 1 / classes), [name + HOSTILE] * classes, standalone=True)
    root = ElementTree.fromstring(svg)
    width, height = (float(root.attrib[side]) for side in ("width", "height"))
    space = "{http://www.w3.org/2000/svg}"
    rectangles = [shape for shape in root.iter(f"{space}rect") if "fill-opacity" in shape.attrib]
    assert len(rectangles) == classes**2
    assert max(float(r.attrib["x"]) + float(r.attrib["width"]) for r in rectangles) <= width
    assert max(float(r.attrib["y"]) + float(r.attrib["height"]) for r in rectangles) <= height
    assert not list(root.iter(f"{space}script"))


@pytest.mark.parametrize(("threshold", "lines"), [(0.25, 1), (0.75, 1), (1.5, 0)])
def test_a_threshold_is_marked_where_it_lies_in_the_span(threshold: float, lines: int) -> None:
    svg = histogram(
        [Bars("all", np.linspace(0, 1, 9))],
        title="t",
        x_label="x",
        y_label="y",
        span=(0.0, 1.0),
        threshold=(threshold, "here <"),
    )
    ElementTree.fromstring(svg)
    assert svg.count('class="threshold"') == svg.count("here &lt;") == lines

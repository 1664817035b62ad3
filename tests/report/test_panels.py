from xml.etree import ElementTree

import pytest

from noiselimit.report.charts import HEIGHT, WIDTH, Line, line_chart, panels

SVG = "{http://www.w3.org/2000/svg}"


def chart(title: str) -> str:
    line = Line("a", [(1, 0.0), (2, 1.0)], "chosen", strength=0.4)
    return line_chart([line], title=title, x_label="epoch", y_label="", standalone=True)


@pytest.mark.parametrize(("count", "columns", "size"), [(1, 2, (1, 1)), (3, 2, (2, 2)), (4, 4, (4, 1))])
def test_charts_stand_beside_and_below_each_other(count: int, columns: int, size: tuple[int, int]) -> None:
    root = ElementTree.fromstring(panels([chart(f"{i}") for i in range(count)], title="a&b", columns=columns))
    assert (root.get("width"), root.get("height")) == (str(size[0] * WIDTH), str(size[1] * HEIGHT))
    assert root.get("aria-label") == "a&b"
    places = [(int(inner.get("x", "0")), int(inner.get("y", "0"))) for inner in root.findall(f"{SVG}svg")]
    assert places == [(WIDTH * (i % columns), HEIGHT * (i // columns)) for i in range(count)]


def test_a_weak_line_is_pale() -> None:
    root = ElementTree.fromstring(chart("pale"))
    assert [group.get("opacity") for group in root.iter(f"{SVG}g")] == ["0.40", "0.40"], "and its sample"

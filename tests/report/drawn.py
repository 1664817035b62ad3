"""What a chart shows, read from its SVG."""

from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def of_class(root: ElementTree.Element, tag: str, *names: str) -> list[ElementTree.Element]:
    return [e for e in root.iter(SVG + tag) if set(names) <= set(e.get("class", "").split())]


def number(element: ElementTree.Element, name: str) -> float:
    return float(element.get(name, "nan"))


def points(polyline: ElementTree.Element) -> list[tuple[float, float]]:
    pairs = [pair.split(",") for pair in polyline.get("points", "").split()]
    return [(float(x), float(y)) for x, y in pairs]


def tick_places(root: ElementTree.Element) -> tuple[dict[str, float], dict[str, float]]:
    """Pixel of each tick text: x of those under the axis, y of those beside it (at the line's height)."""
    under = {t.text or "": number(t, "x") for t in of_class(root, "text", "tick", "x") if t.get("x")}
    beside = [t.text or "" for t in of_class(root, "text", "tick", "y")]
    grid = [number(line, "y1") for line in of_class(root, "line", "grid")]
    return under, dict(zip(beside, grid, strict=True))

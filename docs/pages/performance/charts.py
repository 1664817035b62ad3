"""How cost grows: three charts of docs/performance.md, and the points that they show."""

from collections.abc import Mapping, Sequence
from typing import Any

from noiselimit.bench.work import MNIST
from noiselimit.cli.bench_tables import number
from noiselimit.report.charts import Emphasis, Line, line_chart
from pages.performance.roofline import floor_seconds
from pages.performance.words import seconds

FILES = {"k": "performance-k.svg", "n": "performance-n.svg", "memory": "performance-memory.svg"}
TITLES = {
    "k": "Seconds per run and epoch against K",
    "n": "Seconds per run and epoch against the number of training examples",
    "memory": "Peak memory of the device against K",
}
GIB = 2**30
Content = Mapping[str, Any]
Points = Sequence[Content]


def charts(bench: Content) -> dict[str, str]:
    """File name → SVG; a sweep without a measured point has none."""
    drawn: dict[str, str] = {}
    by_k, by_n, by_memory = points_by_k(bench), points_by_n(bench), points_with_memory(bench)
    if by_k:
        floor = max(floor_seconds(by_k[0], bench["ceilings"]))
        line = Line(MNIST.method, [(point["k"], point["seconds"]) for point in by_k], "chosen")
        reference = (floor, f"floor: {seconds(floor)}")
        drawn[FILES["k"]] = _chart("k", [line], "K, runs in the cohort", "s per run and epoch", reference)
    if by_n:
        lines = [
            Line(f"K = {k}", [(point["n"] / 1000, point["seconds"]) for point in points], _emphasis(number_))
            for number_, (k, points) in enumerate(by_n.items())
        ]
        drawn[FILES["n"]] = _chart("n", lines, "training examples, thousands", "s per run and epoch")
    if by_memory:
        lines = [
            Line(label, [(point["k"], point[name] / GIB) for point in by_memory], _emphasis(number_))
            for number_, (name, label) in enumerate(
                (("peak_reserved", "reserved"), ("peak_memory", "in tensors"))
            )
        ]
        drawn[FILES["memory"]] = _chart("memory", lines, "K, runs in the cohort", "GiB")
    return drawn


def _chart(
    name: str, lines: Sequence[Line], x_label: str, y_label: str, reference: tuple[float, str] | None = None
) -> str:
    """Both axes logarithmic, so that what grows in proportion is a straight line."""
    ys = [y for line in lines for _, y in line.points if y is not None]
    ys += [reference[0]] if reference else []
    return line_chart(
        lines,
        title=TITLES[name],
        x_label=x_label,
        y_label=y_label,
        y_span=(min(ys) / 1.5, max(ys) * 1.2),
        y_format=number,
        reference=reference,
        x_ticks=sorted({x for line in lines for x, _ in line.points}),
        log=True,
        standalone=True,
    )


def _emphasis(place: int) -> Emphasis:
    return "chosen" if place else "baseline"


def points_by_k(bench: Content) -> list[Content]:
    found = [point for point in bench["points"] if point["sweep"] in ("k", "memory") and "seconds" in point]
    return sorted({point["k"]: point for point in found}.values(), key=lambda point: point["k"])


def points_by_n(bench: Content) -> dict[int, list[Content]]:
    """K → its points with rising n; a point that only the sweep over K has is taken from there."""
    lines: dict[int, dict[int, Content]] = {}
    for point in bench["points"]:
        if point["sweep"] == "n" and "seconds" in point:
            lines.setdefault(point["k"], {})[point["n"]] = point
    for point in points_by_k(bench):
        if point["k"] in lines:
            lines[point["k"]].setdefault(point["n"], point)
    return {k: [points[n] for n in sorted(points)] for k, points in sorted(lines.items())}


def points_with_memory(bench: Content) -> list[Content]:
    return [point for point in points_by_k(bench) if point.get("peak_memory") and point.get("peak_reserved")]

"""How cost grows: three charts of docs/performance.md, and a sentence for each from the same points."""

from collections.abc import Mapping, Sequence
from typing import Any

from performance_roofline import floor_seconds
from performance_words import count, seconds

from noiselimit.bench.work import MNIST
from noiselimit.cli.bench_tables import number
from noiselimit.report.charts import Emphasis, Line, line_chart

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
    by_k, by_n, by_memory = _by_k(bench), _by_n(bench), _with_memory(bench)
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


def growth(bench: Content) -> str:
    """The charts as Markdown, each with a sentence."""
    by_k, by_n, by_memory = _by_k(bench), _by_n(bench), _with_memory(bench)
    parts = []
    if by_k:
        best = min(by_k, key=lambda point: point["seconds"])
        parts += [
            _picture("k"),
            f"{_ends(by_k, 'k', 'K = ')} per run and epoch; least at K = {best['k']}: "
            f"{seconds(best['seconds'])}. n = {count(by_k[0]['n'])}. The dotted level is the higher of "
            f"the two floors below.{_split(by_k)}",
        ]
    if by_n:
        said = "; ".join(f"K = {k}: {_ends(points, 'n', 'n = ')}" for k, points in by_n.items())
        parts += [
            _picture("n"),
            f"{said}. The validation and test examples, evaluated after every epoch, are as many at every n, "
            "so time cannot fall in proportion to n.",
        ]
    if by_memory:
        whole = [point for point in by_memory if point["parts"] == 1]
        each = ""
        if len(whole) > 1:
            low, high = whole[0], whole[-1]
            grown = (high["peak_reserved"] - low["peak_reserved"]) / GIB / (high["k"] - low["k"])
            each = f" One more run reserves {number(grown)} GiB, from K = {low['k']} to {high['k']}."
        parts += [
            _picture("memory"),
            f"In tensors: bytes allocated at most; reserved: what the allocator held for them, the memory of "
            f"recorded steps included.{each}{_split(by_memory)}",
        ]
    return "\n\n".join(parts) or "No sweep was measured: add `--sweep all`."


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


def _picture(name: str) -> str:
    return f"![{TITLES[name]}, both axes logarithmic.]({FILES[name]})"


def _ends(points: Points, axis: str, label: str) -> str:
    """`K = 1: 0.08 s, K = 256: 0.009 s`."""
    ends = (points[0], points[-1]) if len(points) > 1 else points
    return ", ".join(f"{label}{count(point[axis])}: {seconds(point['seconds'])}" for point in ends)


def _split(points: Points) -> str:
    split = [f"K = {point['k']} ({point['parts']})" for point in points if point["parts"] > 1]
    return f" Too large for the memory, and trained in parts: {', '.join(split)}." if split else ""


def _by_k(bench: Content) -> list[Content]:
    found = [point for point in bench["points"] if point["sweep"] in ("k", "memory") and "seconds" in point]
    return sorted({point["k"]: point for point in found}.values(), key=lambda point: point["k"])


def _by_n(bench: Content) -> dict[int, list[Content]]:
    """K → its points with rising n."""
    lines: dict[int, list[Content]] = {}
    for point in sorted(bench["points"], key=lambda point: (point.get("k") or 0, point.get("n") or 0)):
        if point["sweep"] == "n" and "seconds" in point:
            lines.setdefault(point["k"], []).append(point)
    return lines


def _with_memory(bench: Content) -> list[Content]:
    return [point for point in _by_k(bench) if point.get("peak_memory") and point.get("peak_reserved")]

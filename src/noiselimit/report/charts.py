"""Line chart as SVG text, drawn by hand so that a page carries no library.

Inside a page the colours come from chart.css, which the page includes once; `standalone=True` puts the same
style sheet into the SVG, so that it can be a file of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from noiselimit.report.axes import BOTTOM, HEIGHT, LETTER, RIGHT, TOP, WIDTH, empty, frame, left
from noiselimit.report.scales import Scale, log_ticks, spread, ticks
from noiselimit.report.svg import svg
from noiselimit.report.svg import text as _text
from noiselimit.report.wording import known, percent, plain, shorten

_LINE_HEIGHT = 15
_MOST_POINTS = 200
_SAMPLE = 22

Emphasis = Literal["chosen", "baseline", "faint"]
_DRAWING_ORDER: tuple[Emphasis, ...] = ("faint", "baseline", "chosen")


@dataclass(frozen=True)
class Line:
    """One line of a line chart."""

    label: str
    """Written at the end of the line unless it is faint; lines with the same label share one."""
    points: Sequence[tuple[float, float | None]]
    """(x, y) with rising x; a y of None or NaN breaks the line."""
    emphasis: Emphasis = "faint"
    """How much the line stands out."""
    tooltip: str = ""
    """What a pointer over the line shows; the label if empty."""
    mark: float | None = None
    """The x at which the line carries a dot, if any."""
    label_at: float | None = None
    """The x of a point on which the label stands, for lines that all end in one place."""
    strength: float = 1.0
    """Opacity, for lines whose order a reader should see, such as those of a growing β."""
    dashed: bool = False
    """Whether it is dashed, to tell it from others of its colour."""

    @property
    def has_own_look(self) -> bool:
        """Whether it differs from a usual line of its colour."""
        return self.dashed or self.strength != 1.0


def line_chart(
    lines: Sequence[Line],
    *,
    title: str,
    x_label: str,
    y_label: str,
    y_span: tuple[float, float] = (0.0, 1.0),
    y_format: Callable[[float], str] = lambda value: percent(value, 0),
    reference: tuple[float, str] | None = None,
    x_ticks: Sequence[float] | None = None,
    log: bool = False,
    to_one: bool = False,
    standalone: bool = False,
) -> str:
    """SVG of lines over whole-numbered x, such as accuracy per epoch; `reference` is a labelled level.

    `x_ticks` are the values named under the axis, if not round ones. `log` makes both axes logarithmic, for
    values that are all positive. `to_one` draws shares by what they lack of 1, to tell high ones apart.
    """
    segments = [_segments(line.points) for line in lines]
    xs = [x for parts in segments for part in parts for x, _ in part]
    if not xs:
        return empty(title, standalone)
    labelled = _labels(lines, segments)
    longest = max((len(label.text) for label in labelled), default=0)
    # A pale label would be hard to read: a sample of the line stands before each instead.
    sample = _SAMPLE if any(line.has_own_look for line in lines) else 0
    right = WIDTH - RIGHT - (8 + sample + LETTER * longest if longest else 0)
    low, high = (min(xs), max(xs)) if min(xs) < max(xs) else (min(xs) - 0.5, max(xs) + 0.5)
    heights = {tick: y_format(tick) for tick in _heights(y_span, log, to_one)}
    x = Scale(low, high, left(heights, y_label), right, log)
    y = Scale(*y_span, HEIGHT - BOTTOM, TOP, log, to_one)
    at = x_ticks or (log_ticks(low, high, 8) if log else ticks(low, high, 6, whole=True))
    body = [frame(x, y, heights, {tick: plain(tick) for tick in at}, x_label, y_label)]
    named = ""
    if reference is not None and y_span[0] <= reference[0] <= y_span[1]:
        level = y(reference[0])
        body.append(
            f'<line class="reference" x1="{x.start:.1f}" x2="{right:.1f}" y1="{level:.1f}" y2="{level:.1f}"/>'
        )
        named = (
            f'<text class="soft y halo" x="{right - 4:.1f}" y="{level + 15:.1f}">{_text(reference[1])}</text>'
        )
    for emphasis in _DRAWING_ORDER:
        for line, parts in zip(lines, segments, strict=True):
            if line.emphasis == emphasis:
                body.append(_draw(line, parts, x, y))
    body += [named, _direct_labels(labelled, x, y, right, sample)]
    return svg(title, body, standalone, WIDTH, HEIGHT)


def _heights(span: tuple[float, float], log: bool, to_one: bool) -> list[float]:
    if to_one:
        return [1 - lacking for lacking in log_ticks(1 - span[1], 1 - span[0], 8)]
    return log_ticks(*span, 8) if log else ticks(*span, 6)


def _segments(points: Sequence[tuple[float, float | None]]) -> list[list[tuple[float, float]]]:
    """The line cut where a value is missing, and thinned where it has more points than the eye can tell."""
    parts: list[list[tuple[float, float]]] = [[]]
    for x, y in points:
        value = known(y)
        if value is not None:
            parts[-1].append((x, value))
        elif parts[-1]:
            parts.append([])
    return [_thin(part) for part in parts if part]


def _thin(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    stride = -(-len(points) // _MOST_POINTS)
    kept = points[::stride]
    return kept if kept[-1] == points[-1] else [*kept, points[-1]]


def _draw(line: Line, parts: list[list[tuple[float, float]]], x: Scale, y: Scale) -> str:
    shapes = []
    for part in parts:
        if len(part) == 1:
            shapes.append(f'<circle class="lone" cx="{x(part[0][0]):.1f}" cy="{y(part[0][1]):.1f}" r="2.5"/>')
        else:
            shapes.append(_polyline(line, [(x(a), y(b)) for a, b in part]))
    at_mark = [known(b) for a, b in line.points if a == line.mark]
    if at_mark and line.mark is not None and at_mark[0] is not None:
        shapes.append(f'<circle class="mark" cx="{x(line.mark):.1f}" cy="{y(at_mark[0]):.1f}" r="4.5"/>')
    at_label = [known(b) for a, b in line.points if a == line.label_at]
    if at_label and line.label_at is not None and at_label[0] is not None:
        place = f'x="{x(line.label_at):.1f}" y="{y(at_label[0]) + 4:.1f}"'
        shapes.append(f'<text class="label on-line x {line.emphasis}" {place}>{_text(line.label)}</text>')
    tooltip = _text(line.tooltip or line.label)
    return f'<g class="line {line.emphasis}"{_opacity(line)}><title>{tooltip}</title>{"".join(shapes)}</g>'


def _polyline(line: Line, pixels: Sequence[tuple[float, float]]) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in pixels)
    dashes = ' stroke-dasharray="6 4"' if line.dashed else ""
    return f'<polyline points="{path}"{dashes}/>'


def _opacity(line: Line) -> str:
    return "" if line.strength == 1.0 else f' opacity="{line.strength:.2f}"'


@dataclass(frozen=True)
class _Label:
    text: str
    line: Line
    """The first of those that have it."""
    x: float
    y: float


def _labels(lines: Sequence[Line], segments: list[list[list[tuple[float, float]]]]) -> list[_Label]:
    """Where each different label of the lines that stand out points to, the chosen ones first."""
    ends: dict[tuple[Emphasis, str], list[tuple[Line, float, float]]] = {}
    for emphasis in reversed(_DRAWING_ORDER[1:]):
        for line, parts in zip(lines, segments, strict=True):
            if line.emphasis == emphasis and line.label_at is None and parts:
                ends.setdefault((emphasis, line.label), []).append((line, *parts[-1][-1]))
    room = (HEIGHT - BOTTOM - TOP) // _LINE_HEIGHT
    return [
        _Label(shorten(text, 26), own[0][0], max(x for _, x, _ in own), sum(y for _, _, y in own) / len(own))
        for (_, text), own in list(ends.items())[:room]
    ]


def _direct_labels(labelled: list[_Label], x: Scale, y: Scale, right: float, sample: float) -> str:
    places = spread([y(label.y) for label in labelled], _LINE_HEIGHT, TOP, HEIGHT - BOTTOM)
    shapes = []
    for label, place in zip(labelled, places, strict=True):
        line, looks = label.line, label.line.emphasis
        if abs(place - y(label.y)) > 2 or right - x(label.x) > 2:
            shapes.append(
                f'<line class="leader {looks}" x1="{x(label.x):.1f}" y1="{y(label.y):.1f}" '
                f'x2="{right + 6:.1f}" y2="{place:.1f}"/>'
            )
        begin = right + 8
        if sample:
            drawn = _polyline(line, [(begin, place), (begin + sample - 6, place)])
            shapes.append(f'<g class="sample {looks}"{_opacity(line)}>{drawn}</g>')
        shapes.append(
            f'<text class="label {looks}" x="{begin + sample:.1f}" y="{place + 4:.1f}">'
            f"{_text(label.text)}</text>"
        )
    return "".join(shapes)

"""Line chart and histogram as SVG text, drawn by hand so that a page carries no library.

Inside a page the colours come from chart.css, which the page includes once; `standalone=True` puts the same
style sheet into the SVG, so that it can be a file of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from noiselimit.report.scales import Scale, log_ticks, spread, ticks
from noiselimit.report.svg import svg
from noiselimit.report.svg import text as _text
from noiselimit.report.wording import known, percent, plain, shorten

WIDTH, HEIGHT = 480, 290
_TOP, _BOTTOM, _RIGHT = 16, 44, 12
_LINE_HEIGHT = 15
_LETTER = 7.3  # the widest that a letter gets on average: text grows on narrow screens
_MOST_POINTS = 200

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


@dataclass(frozen=True)
class Bars:
    """One colour of a histogram."""

    label: str
    """Its name in the legend."""
    values: npt.NDArray[np.floating]
    """Values [n]; those that are not finite are left out."""
    kind: Literal["right", "wrong"] = "right"
    """Which of the two colours."""


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
    standalone: bool = False,
) -> str:
    """SVG of lines over whole-numbered x, such as accuracy per epoch; `reference` is a labelled level.

    `x_ticks` are the values named under the axis, if not round ones. `log` makes both axes logarithmic, for
    values that are all positive.
    """
    segments = [_segments(line.points) for line in lines]
    xs = [x for parts in segments for part in parts for x, _ in part]
    if not xs:
        return _empty(title, standalone)
    labelled = _labels(lines, segments)
    longest = max((len(text) for text, *_ in labelled), default=0)
    right = WIDTH - _RIGHT - (8 + _LETTER * longest if longest else 0)
    low, high = (min(xs), max(xs)) if min(xs) < max(xs) else (min(xs) - 0.5, max(xs) + 0.5)
    heights = {tick: y_format(tick) for tick in (log_ticks(*y_span, 8) if log else ticks(*y_span, 6))}
    x = Scale(low, high, _left(heights, y_label), right, log)
    y = Scale(*y_span, HEIGHT - _BOTTOM, _TOP, log)
    body = [
        _horizontal_grid(x, y, heights),
        _x_axis(x, x_ticks or (log_ticks(low, high, 8) if log else ticks(low, high, 6, whole=True)), plain),
        _axis_titles(x, x_label, y_label),
    ]
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
    body += [named, _direct_labels(labelled, x, y, right)]
    return svg(title, body, standalone, WIDTH, HEIGHT)


def histogram(
    series: Sequence[Bars],
    *,
    title: str,
    x_label: str,
    y_label: str,
    span: tuple[float, float],
    bins: int = 28,
    threshold: tuple[float, str] | None = None,
    standalone: bool = False,
) -> str:
    """SVG of one histogram, or of several stacked upon each other, with a legend if there are several.

    `threshold` is a labelled value of the span, marked by a line from top to bottom.
    """
    counts = np.stack([histogram_counts(bars.values, bins, span) for bars in series])
    if counts.sum() == 0:
        return _empty(title, standalone)
    tallest = float(counts.sum(axis=0).max())
    marks = ticks(0, tallest, 5, whole=True)
    step = marks[1] - marks[0] if len(marks) > 1 else 1.0
    top = _TOP + (18 if len(series) > 1 else 0)
    y = Scale(0, float(step * np.ceil(tallest / step)), HEIGHT - _BOTTOM, top)
    heights = {tick: f"{tick:,.0f}" for tick in ticks(0, y.high, 6, whole=True)}
    x = Scale(*span, _left(heights, y_label), WIDTH - _RIGHT - 8)
    body = [
        _horizontal_grid(x, y, heights),
        _x_axis(x, ticks(*span, 8), plain),
        _axis_titles(x, x_label, y_label),
    ]
    edges = np.linspace(*span, bins + 1)
    for column in range(bins):
        if counts[:, column].any():
            body.append(_column(series, counts[:, column], edges[column], edges[column + 1], x, y))
    if threshold is not None and span[0] <= threshold[0] <= span[1]:
        body.append(_threshold(x(threshold[0]), threshold[1], x, y))
    if len(series) > 1:
        body.append(_legend(series, x.start))
    return svg(title, body, standalone, WIDTH, HEIGHT)


def histogram_counts(
    values: npt.NDArray[np.floating], bins: int, span: tuple[float, float]
) -> npt.NDArray[np.int64]:
    """Counts [bins] of the finite values; what lies outside the span by rounding falls into the end bins."""
    finite = values[np.isfinite(values)]
    return np.histogram(np.clip(finite.astype(np.float64), *span), bins=bins, range=span)[0].astype(np.int64)


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
    dashes = ' stroke-dasharray="6 4"' if line.dashed else ""
    for part in parts:
        if len(part) == 1:
            shapes.append(f'<circle class="lone" cx="{x(part[0][0]):.1f}" cy="{y(part[0][1]):.1f}" r="2.5"/>')
        else:
            path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in part)
            shapes.append(f'<polyline points="{path}"{dashes}/>')
    at_mark = [known(b) for a, b in line.points if a == line.mark]
    if at_mark and line.mark is not None and at_mark[0] is not None:
        shapes.append(f'<circle class="mark" cx="{x(line.mark):.1f}" cy="{y(at_mark[0]):.1f}" r="4.5"/>')
    at_label = [known(b) for a, b in line.points if a == line.label_at]
    if at_label and line.label_at is not None and at_label[0] is not None:
        place = f'x="{x(line.label_at):.1f}" y="{y(at_label[0]) + 4:.1f}"'
        shapes.append(f'<text class="label on-line x {line.emphasis}" {place}>{_text(line.label)}</text>')
    tooltip = _text(line.tooltip or line.label)
    opacity = "" if line.strength == 1.0 else f' opacity="{line.strength:.2f}"'
    return f'<g class="line {line.emphasis}"{opacity}><title>{tooltip}</title>{"".join(shapes)}</g>'


_Label = tuple[str, Emphasis, float, float]


def _labels(lines: Sequence[Line], segments: list[list[list[tuple[float, float]]]]) -> list[_Label]:
    """(text, emphasis, x, y) for each different label of the lines that stand out, the chosen ones first."""
    ends: dict[tuple[Emphasis, str], list[tuple[float, float]]] = {}
    for emphasis in reversed(_DRAWING_ORDER[1:]):
        for line, parts in zip(lines, segments, strict=True):
            if line.emphasis == emphasis and line.label_at is None and parts:
                ends.setdefault((emphasis, line.label), []).append(parts[-1][-1])
    room = (HEIGHT - _BOTTOM - _TOP) // _LINE_HEIGHT
    return [
        (shorten(text, 26), emphasis, max(x for x, _ in points), sum(y for _, y in points) / len(points))
        for (emphasis, text), points in list(ends.items())[:room]
    ]


def _direct_labels(labelled: list[_Label], x: Scale, y: Scale, right: float) -> str:
    places = spread([y(end) for *_, end in labelled], _LINE_HEIGHT, _TOP, HEIGHT - _BOTTOM)
    shapes = []
    for (text, emphasis, end_x, end_y), place in zip(labelled, places, strict=True):
        if abs(place - y(end_y)) > 2 or right - x(end_x) > 2:
            shapes.append(
                f'<line class="leader {emphasis}" x1="{x(end_x):.1f}" y1="{y(end_y):.1f}" '
                f'x2="{right + 6:.1f}" y2="{place:.1f}"/>'
            )
        shapes.append(
            f'<text class="label {emphasis}" x="{right + 8:.1f}" y="{place + 4:.1f}">{_text(text)}</text>'
        )
    return "".join(shapes)


def _column(
    series: Sequence[Bars], counts: npt.NDArray[np.int64], low: float, high: float, x: Scale, y: Scale
) -> str:
    named = ", ".join(f"{count} {bars.label}" for bars, count in zip(series, counts, strict=True))
    shapes = [f"<title>{low:.2f} to {high:.2f}: {_text(named)}</title>"]
    foot = y.start
    for bars, count in zip(series, counts, strict=True):
        if count:
            # One example among hundreds would be thinner than a pixel, yet it is what one looks for.
            height = max(float(y.start - y(float(count))), 1.0)
            shapes.append(
                f'<rect class="bar {bars.kind}" x="{x(low) + 0.5:.1f}" y="{foot - height:.1f}" '
                f'width="{max(x(high) - x(low) - 1, 0.5):.1f}" height="{height:.1f}"/>'
            )
            foot -= height
    return f"<g>{''.join(shapes)}</g>"


def _threshold(place: float, label: str, x: Scale, y: Scale) -> str:
    """The label stands on the side that has more room."""
    left = place - x.start > x.end - place
    return (
        f'<line class="threshold" x1="{place:.1f}" x2="{place:.1f}" y1="{y.end:.1f}" y2="{y.start:.1f}"/>'
        f'<text class="label halo{" y" if left else ""}" x="{place + (-6 if left else 6):.1f}" '
        f'y="{y.end + 12:.1f}">{_text(label)}</text>'
    )


def _legend(series: Sequence[Bars], place: float) -> str:
    shapes = []
    for bars in series:
        shapes.append(
            f'<rect class="bar {bars.kind}" x="{place:.1f}" y="6" width="11" height="11"/>'
            f'<text x="{place + 16:.1f}" y="16">{_text(bars.label)}</text>'
        )
        place += 36 + _LETTER * len(bars.label)
    return f'<g class="legend">{"".join(shapes)}</g>'


def _left(heights: Mapping[float, str], y_label: str) -> float:
    """Where the plot begins: right of the title of the axis and of the longest tick label."""
    return (30 if y_label else 14) + 7.6 * max((len(text) for text in heights.values()), default=0)


def _horizontal_grid(x: Scale, y: Scale, heights: Mapping[float, str]) -> str:
    return "".join(
        f'<line class="grid" x1="{x.start:.1f}" x2="{x.end:.1f}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        f'<text class="tick y" x="{x.start - 7:.1f}" y="{y(tick) + 4:.1f}">{_text(text)}</text>'
        for tick, text in heights.items()
    )


def _x_axis(x: Scale, at: Sequence[float], write: Callable[[float], str]) -> str:
    foot = HEIGHT - _BOTTOM
    axis = f'<line class="axis" x1="{x.start:.1f}" x2="{x.end:.1f}" y1="{foot}" y2="{foot}"/>'
    return axis + "".join(
        f'<line class="axis" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{foot}" y2="{foot + 4}"/>'
        f'<text class="tick x" x="{x(tick):.1f}" y="{foot + 18}">{_text(write(tick))}</text>'
        for tick in at
    )


def _axis_titles(x: Scale, x_label: str, y_label: str) -> str:
    shapes = f'<text class="tick x" x="{(x.start + x.end) / 2:.1f}" y="{HEIGHT - 6}">{_text(x_label)}</text>'
    if y_label:
        half = (_TOP + HEIGHT - _BOTTOM) / 2
        shapes += (
            f'<text class="tick x" transform="translate(12 {half:.1f}) rotate(-90)">{_text(y_label)}</text>'
        )
    return shapes


def _empty(title: str, standalone: bool) -> str:
    nothing = f'<text class="tick x" x="{WIDTH / 2}" y="{HEIGHT / 2}">no values were recorded</text>'
    return svg(title, [nothing], standalone, WIDTH, HEIGHT)

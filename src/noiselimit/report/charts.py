"""Learning curves: the chosen run and cross-entropy stand out, the others stay faint."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from noiselimit.errors import InputError
from noiselimit.information import least_error, uniform_noise_entropy
from noiselimit.report.content import (
    BASELINE,
    Report,
    RunLine,
    known,
    legal,
    percent,
    plain,
    run_name,
    shorten,
)


def svg(title: str, body: Sequence[str], standalone: bool, width: float, height: float) -> str:
    """An SVG of this size; `standalone` puts the style sheet into it, so that it can be a file of its own."""
    style = ""
    if standalone:
        sheet = files("noiselimit.report").joinpath("chart.css").read_text("utf-8")
        style = f'<style>{sheet}</style><rect class="paper" width="{width:g}" height="{height:g}"/>'
    size = f' width="{width:g}" height="{height:g}"' if standalone else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {width:g} {height:g}"{size} '
        f'role="img" aria-label="{text(title)}"><title>{text(title)}</title>{style}{"".join(body)}</svg>\n'
    )


def text(words: str) -> str:
    """Words as they may stand in XML."""
    return escape(legal(words))


@dataclass(frozen=True)
class Scale:
    """A map from the span of the data to a span of pixels (which may run backwards)."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    """Whether equal ratios, not equal differences, are equally far apart; all values are positive then."""
    to_one: bool = False
    """Whether it is ratios of what shares lack of 1 instead: 98 % and 99 % are as far apart as 80 % and 90 %.
    `high` is below 1 then, and shares above it are drawn there."""

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        low, high = self.low, self.high
        if self.to_one:
            low, high, value = 1 - low, 1 - high, 1 - min(value, high)
        if self.log or self.to_one:
            share = math.log(value / low) / math.log(high / low)
        else:
            share = (value - low) / (high - low)
        return self.start + share * (self.end - self.start)


def ticks(low: float, high: float, most: int, whole: bool = False) -> list[float]:
    """At most `most` multiples of 1, 2 or 5 × 10^k in [low, high]; integers only, if `whole`."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high) or most < 1:
        return []
    exponent = math.floor(math.log10((high - low) / most))
    for power in range(exponent, exponent + 3):
        for digit in (1, 2, 5):
            if whole and power < 0:
                continue
            # A division by a power of ten is exact where a product with 0.1 is not.
            up, down = (digit * 10**power, 1) if power >= 0 else (digit, 10**-power)
            slack = 1e-9 * (high - low) * down / up
            first = math.ceil(low * down / up - slack)
            last = math.floor(high * down / up + slack)
            if last - first + 1 <= most:
                return [count * up / down for count in range(first, last + 1)]
    return [math.ceil(low)] if whole and math.ceil(low) <= high else []


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """At most `most` values of 1, 2 and 5, of 1 and 3, or of 1 × 10^k in [low, high], 0 < low < high."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits in ((1, 2, 5), (1, 3), (1,)):
        # Read from text: a product with a negative power of ten may miss its nearest number.
        marks = [float(f"{digit}e{power}") for power in range(first, last + 1) for digit in digits]
        found = [mark for mark in marks if low * (1 - 1e-9) <= mark <= high * (1 + 1e-9)]
        if len(found) <= most:
            return found
    return found[:: -(-len(found) // most)]


def round_above(value: float) -> float:
    """The least of 1, 2 and 5 × 10^k that is not below the value, which is positive."""
    return min(mark for mark in _round_numbers(value) if mark >= value)


def round_below(value: float) -> float:
    """The greatest of 1, 2 and 5 × 10^k that is not above the value, which is positive."""
    return max(mark for mark in _round_numbers(value) if mark <= value)


def _round_numbers(value: float) -> list[float]:
    """Some on both sides of the value."""
    power = math.floor(math.log10(value))
    return [float(f"{digit}e{exponent}") for exponent in range(power - 1, power + 2) for digit in (1, 2, 5)]


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The positions moved as little as need be to stand `gap` apart inside [low, high], in the same order.

    Where they cannot all fit they are spaced evenly from low to high.
    """
    count = len(positions)
    if count > 1 and (count - 1) * gap >= high - low:
        gap = (high - low) / (count - 1)
    order = sorted(range(count), key=lambda i: positions[i])
    moved = [0.0] * count
    floor = low
    for i in order:
        moved[i] = max(positions[i], floor)
        floor = moved[i] + gap
    ceiling = high
    for i in reversed(order):
        moved[i] = min(moved[i], ceiling)
        ceiling = moved[i] - gap
    return moved


WIDTH, HEIGHT = 480, 290
TOP, BOTTOM, RIGHT = 16, 44, 12
LETTER = 7.3  # the widest that a letter gets on average: text grows on narrow screens


def left(heights: Mapping[float, str], y_label: str) -> float:
    """Where the plot begins: right of the title of the axis and of the longest tick label."""
    return (30 if y_label else 14) + 7.6 * max((len(words) for words in heights.values()), default=0)


def frame(
    x: Scale, y: Scale, heights: Mapping[float, str], at: Mapping[float, str], x_label: str, y_label: str
) -> str:
    """Grid lines at the heights, ticks along the foot; both are a value → what is written there."""
    return _horizontal_grid(x, y, heights) + _x_axis(x, at) + _titles(x, x_label, y_label)


def empty(title: str, standalone: bool) -> str:
    """A chart of nothing, which says so."""
    nothing = f'<text class="tick x" x="{WIDTH / 2}" y="{HEIGHT / 2}">no values were recorded</text>'
    return svg(title, [nothing], standalone, WIDTH, HEIGHT)


def _horizontal_grid(x: Scale, y: Scale, heights: Mapping[float, str]) -> str:
    return "".join(
        f'<line class="grid" x1="{x.start:.1f}" x2="{x.end:.1f}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        f'<text class="tick y" x="{x.start - 7:.1f}" y="{y(tick) + 4:.1f}">{text(words)}</text>'
        for tick, words in heights.items()
    )


def _x_axis(x: Scale, at: Mapping[float, str]) -> str:
    foot = HEIGHT - BOTTOM
    axis = f'<line class="axis" x1="{x.start:.1f}" x2="{x.end:.1f}" y1="{foot}" y2="{foot}"/>'
    return axis + "".join(
        f'<line class="axis" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{foot}" y2="{foot + 4}"/>'
        f'<text class="tick x" x="{x(tick):.1f}" y="{foot + 18}">{text(words)}</text>'
        for tick, words in at.items()
    )


def _titles(x: Scale, x_label: str, y_label: str) -> str:
    shapes = f'<text class="tick x" x="{(x.start + x.end) / 2:.1f}" y="{HEIGHT - 6}">{text(x_label)}</text>'
    if y_label:
        half = (TOP + HEIGHT - BOTTOM) / 2
        shapes += (
            f'<text class="tick x" transform="translate(12 {half:.1f}) rotate(-90)">{text(y_label)}</text>'
        )
    return shapes


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
            f'<text class="soft y halo" x="{right - 4:.1f}" y="{level + 15:.1f}">{text(reference[1])}</text>'
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
        shapes.append(f'<text class="label on-line x {line.emphasis}" {place}>{text(line.label)}</text>')
    tooltip = text(line.tooltip or line.label)
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
            f"{text(label.text)}</text>"
        )
    return "".join(shapes)


MAX_CLASSES = 30
_WITH_NUMBERS = 12
_LONGEST_NAME = 14
_LETTER = 7.0
_STRONGEST = 0.6  # of a cell's colour, so that the number on it stays readable


def heat_map(
    transition: npt.NDArray[np.floating],
    names: Sequence[str],
    *,
    title: str = "Transition matrix",
    standalone: bool = False,
) -> str:
    """SVG of P(given | right) [C right, C given], for at most MAX_CLASSES classes.

    The diagonal has a colour of its own. Off it the colour is full at the largest share there, and grows with
    the square root, for most of these shares are small.
    """
    classes = len(names)
    short = [shorten(name, _LONGEST_NAME) for name in names]
    room = _LETTER * max(map(len, short))
    left, top = 34 + room, 36 + room
    width = 480 if classes <= _WITH_NUMBERS else 960
    side = min((width - left - 12) / classes, 56.0)
    off = np.where(np.eye(classes, dtype=bool), 0.0, transition)
    highest = float(off.max()) or 1.0
    body = [_axis_titles(left, top)]
    for place, name in enumerate(short):
        middle = (place + 0.5) * side + 4
        body.append(f'<text class="tick y" x="{left - 6:.1f}" y="{top + middle:.1f}">{text(name)}</text>')
        at = f"translate({left + middle:.1f} {top - 6:.1f}) rotate(-90)"
        body.append(f'<text class="tick" transform="{at}">{text(name)}</text>')
    for right in range(classes):
        for given in range(classes):
            share = float(transition[right, given])
            strength = share if right == given else float(np.sqrt(share / highest))
            said = f"right label {names[right]}, given label {names[given]}: {percent(share, 2)}"
            x, y = left + given * side, top + right * side
            body.append(
                f'<g><title>{text(said)}</title><rect class="cell {"right" if right == given else "wrong"}" '
                f'x="{x:.1f}" y="{y:.1f}" width="{side:.1f}" height="{side:.1f}" '
                f'fill-opacity="{_STRONGEST * strength:.3f}"/>'
                f"{_number(share, x, y, side) if classes <= _WITH_NUMBERS else ''}</g>"
            )
    return svg(title, body, standalone, width, round(top + side * classes + 10))


def _number(share: float, x: float, y: float, side: float) -> str:
    """The share in per cent, written where there is something to write."""
    if share < 0.0005:
        return ""
    written = f"{100 * share:.0f}" if share >= 0.0995 else f"{100 * share:.1f}"
    return f'<text class="share x" x="{x + side / 2:.1f}" y="{y + side / 2 + 4:.1f}">{written}</text>'


def _axis_titles(left: float, top: float) -> str:
    # A matrix of two classes is shorter than its title: they begin where the matrix does.
    return (
        f'<text class="tick" x="{left:.1f}" y="14">given label</text>'
        f'<text class="tick y" transform="translate(12 {top:.1f}) rotate(-90)">right label</text>'
    )


FOOT = 0.5
"""Where a logarithmic axis of counts begins: one example has some height, none has none."""

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Bars:
    """One colour of a histogram."""

    label: str
    """Its name in the legend."""
    values: npt.NDArray[np.floating]
    """Values [n]; those that are not finite are left out."""
    kind: Literal["right", "wrong"] = "right"
    """Which of the two colours."""


def histogram(
    series: Sequence[Bars],
    *,
    title: str,
    x_label: str,
    y_label: str,
    span: tuple[float, float],
    bins: int = 28,
    threshold: tuple[float, str] | None = None,
    log: bool = False,
    standalone: bool = False,
) -> str:
    """SVG of one histogram, or of several stacked upon each other, with a legend if there are several.

    `threshold` is a labelled value of the span, marked by a line from top to bottom. `log` makes the axis of
    counts logarithmic: all histograms stand on the axis then, since the height of a sum says nothing of its
    parts there.
    """
    counts = np.stack([histogram_counts(bars.values, bins, span) for bars in series])
    if counts.sum() == 0:
        return empty(title, standalone)
    top = TOP + (18 if len(series) > 1 else 0)
    if log:
        y = Scale(FOOT, round_above(float(counts.max())), HEIGHT - BOTTOM, top, log=True)
        marks = log_ticks(1, y.high, 6)
    else:
        y = _linear(float(counts.sum(axis=0).max()), top)
        marks = ticks(0, y.high, 6, whole=True)
    heights = {tick: f"{tick:,.0f}" for tick in marks}
    x = Scale(*span, left(heights, y_label), WIDTH - RIGHT - 8)
    body = [frame(x, y, heights, {tick: plain(tick) for tick in ticks(*span, 8)}, x_label, y_label)]
    edges = [float(edge) for edge in np.linspace(*span, bins + 1)]
    if log:
        body += [_outline(bars, own, edges, x, y) for bars, own in zip(series, counts, strict=True)]
    for column in range(bins):
        if counts[:, column].any():
            low, high, own = edges[column], edges[column + 1], counts[:, column]
            shapes = _whole_height(low, high, x, y) if log else _stack(series, own, low, high, x, y)
            body.append(f"<g>{_tooltip(series, own, low, high)}{shapes}</g>")
    if threshold is not None and span[0] <= threshold[0] <= span[1]:
        body.append(_threshold(x(threshold[0]), threshold[1], x, y))
    if len(series) > 1:
        body.append(_legend(series, x.start, "step" if log else "bar"))
    return svg(title, body, standalone, WIDTH, HEIGHT)


def histogram_counts(values: npt.NDArray[np.floating], bins: int, span: tuple[float, float]) -> Counts:
    """Counts [bins] of the finite values; what lies outside the span by rounding falls into the end bins."""
    finite = values[np.isfinite(values)]
    return np.histogram(np.clip(finite.astype(np.float64), *span), bins=bins, range=span)[0].astype(np.int64)


def _linear(tallest: float, top: float) -> Scale:
    marks = ticks(0, tallest, 5, whole=True)
    step = marks[1] - marks[0] if len(marks) > 1 else 1.0
    return Scale(0, float(step * np.ceil(tallest / step)), HEIGHT - BOTTOM, top)


def _stack(series: Sequence[Bars], counts: Counts, low: float, high: float, x: Scale, y: Scale) -> str:
    shapes = []
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
    return "".join(shapes)


def _outline(bars: Bars, counts: Counts, edges: Sequence[float], x: Scale, y: Scale) -> str:
    """Steps along the tops of the bins; along empty ones there is no line, not even on the axis."""
    parts = []
    for is_there, bins in groupby(range(len(counts)), key=lambda column: counts[column] > 0):
        if is_there:
            own = list(bins)
            tops = "".join(f"V{y(float(counts[i])):.1f}H{x(edges[i + 1]):.1f}" for i in own)
            parts.append(f"M{x(edges[own[0]]):.1f},{y.start:.1f}{tops}V{y.start:.1f}")
    return f'<path class="step {bars.kind}" d="{"".join(parts)}"/>'


def _whole_height(low: float, high: float, x: Scale, y: Scale) -> str:
    """Nothing to see, but a pointer anywhere above a bin shows its counts."""
    place = f'x="{x(low):.1f}" y="{y.end:.1f}" width="{x(high) - x(low):.1f}" height="{y.start - y.end:.1f}"'
    return f'<rect class="unseen" {place}/>'


def _tooltip(series: Sequence[Bars], counts: Counts, low: float, high: float) -> str:
    named = ", ".join(f"{count} {bars.label}" for bars, count in zip(series, counts, strict=True))
    return f"<title>{low:.2f} to {high:.2f}: {text(named)}</title>"


def _threshold(place: float, label: str, x: Scale, y: Scale) -> str:
    """The label stands on the side that has more room."""
    left = place - x.start > x.end - place
    return (
        f'<line class="threshold" x1="{place:.1f}" x2="{place:.1f}" y1="{y.end:.1f}" y2="{y.start:.1f}"/>'
        f'<text class="label halo{" y" if left else ""}" x="{place + (-6 if left else 6):.1f}" '
        f'y="{y.end + 12:.1f}">{text(label)}</text>'
    )


def _legend(series: Sequence[Bars], place: float, look: str) -> str:
    shapes = []
    for bars in series:
        shapes.append(
            f'<rect class="{look} {bars.kind}" x="{place:.1f}" y="6" width="11" height="11"/>'
            f'<text x="{place + 16:.1f}" y="16">{text(bars.label)}</text>'
        )
        place += 36 + LETTER * len(bars.label)
    return f'<g class="legend">{"".join(shapes)}</g>'


POINTS = 161
LABEL_AT = 0.2  # of a curve's length, where the curves of a usual figure are well apart


@dataclass(frozen=True)
class FanoCurve:
    """One noise: from no information to all that there is."""

    noise: float
    bits: list[float]
    errors: list[float]

    def to_json(self) -> dict[str, Any]:
        return {"noise": self.noise, "bits": self.bits, "least_error": self.errors}


def fano_curve(probability: str, classes: int) -> FanoCurve:
    """Of uniform noise with this probability, as typed."""
    try:
        p = float(probability)
    except ValueError:
        raise InputError(
            f"probability is '{probability}': give a number from 0 to 1, or several separated by commas."
        ) from None
    entropy = uniform_noise_entropy(p, classes)
    bits = np.linspace(0, entropy, POINTS)
    return FanoCurve(p, bits.tolist(), least_error(entropy, bits, classes).tolist())


def fano_chart(curves: Sequence[FanoCurve], classes: int) -> str:
    """An SVG file of the curves, each with its probability written beside it."""
    lines = [
        Line(
            f"p = {curve.noise:g}",
            list(zip(curve.bits, curve.errors, strict=True)),
            "chosen",
            label_at=curve.bits[round(LABEL_AT * (POINTS - 1))],
        )
        for curve in curves
    ]
    return line_chart(
        lines,
        title=f"Least training error against memorised bits, uniform noise, {classes} classes",
        x_label="I(w;Y|X)/n: bits memorised per label",
        y_label="least training error",
        standalone=True,
    )


def panels(charts: Sequence[str], *, title: str, columns: int = 2) -> str:
    """One SVG file of standalone charts of the usual size, row by row, `columns` beside each other."""
    rows = -(-len(charts) // columns)
    width, height = WIDTH * min(columns, len(charts)), HEIGHT * rows
    placed = []
    for number, chart in enumerate(charts):
        x, y = WIDTH * (number % columns), HEIGHT * (number // columns)
        below = f' y="{y}"' if y else ""
        placed.append(chart.replace("<svg ", f'<svg x="{x}"{below} ', 1))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{text(title)}">\n{"".join(placed)}</svg>\n'
    )


_CURVES = {
    "test_accuracy": "Test accuracy",
    "validation_accuracy": "Validation accuracy, given labels",
    "train_accuracy": "Training accuracy, given labels",
}


LEVEL = 0.05
"""Seeds split the data differently, so the entropy of one noise differs a little from run to run."""


@dataclass(frozen=True)
class Curve:
    """A heading and the chart below it."""

    heading: str
    svg: str


def all_curves(report: Report) -> list[Curve]:
    """The learning curves and, where it is known, the memorisation beside them."""
    memorised = memorisation_curve(report)
    return [*learning_curves(report), *([] if memorised is None else [memorised])]


def learning_curves(report: Report, *, standalone: bool = False) -> list[Curve]:
    """Test (or, where that is unknown, validation) and training accuracy, both on the same vertical scale."""
    known_keys = [key for key in _CURVES if any(_values(run, key) for run in report.runs)]
    if "test_accuracy" in known_keys:
        known_keys = [key for key in known_keys if key != "validation_accuracy"]
    if not known_keys:
        return []
    lowest = min(value for key in known_keys for run in report.runs for value in _values(run, key))
    step = 0.2 if lowest < 0.5 else 0.1
    span = (min(max(step * float(np.floor(lowest / step + 1e-9)), 0.0), 0.9), 1.0)
    share = known(report.wrong_share)
    curves: list[Curve] = []
    for key in known_keys:
        reference = None
        if key == "train_accuracy" and share:
            reference = (1 - share, f"right labels: {percent(1 - share, 0)}")
        heading = _CURVES[key]
        if key == "test_accuracy" and report.clean_test:
            heading += ", clean labels"
        svg = line_chart(
            [_line(run, key) for run in report.runs],
            title=f"{heading}, per epoch",
            x_label="epoch",
            y_label="",
            y_span=span,
            reference=reference,
            standalone=standalone,
        )
        curves.append(Curve(heading, svg))
    return curves


def memorisation_curve(report: Report, *, standalone: bool = False) -> Curve | None:
    """Bits per label that the training error implies, if the runs are typical; None where nobody knows."""
    bits = [value for run in report.runs for value in _values(run, "memorised_bits")]
    if not bits:
        return None
    entropies = [value for run in report.runs for value in _values(run, "noise_entropy")]
    most = max(entropies)
    # One level where the noise is known; an estimate changes from epoch to epoch and has none.
    reference = (most, f"all there is: {most:.2f}") if most - min(entropies) < LEVEL * most else None
    estimated = any(len(set(_values(run, "noise_entropy"))) > 1 for run in report.runs)
    heading = f"Memorised bits per label, {'estimated' if estimated else 'at least'}"
    svg = line_chart(
        [_line(run, "memorised_bits") for run in report.runs],
        title=f"{heading}, per epoch",
        x_label="epoch",
        y_label="",
        y_span=(0.0, max(1.05 * most, 0.1)),
        y_format=lambda value: f"{value:.3g}",
        reference=reference,
        standalone=standalone,
    )
    return Curve(heading, svg)


def curve_hint(report: Report) -> str:
    """How to read the curves."""
    runs, parts = report.runs, []
    if known(report.wrong_share) and any(_values(run, "train_accuracy") for run in runs):
        parts.append("Training accuracy above the share of right labels is memorising.")
    if any(_values(run, "memorised_bits") for run in runs):
        parts.append("The bits are what the training error implies, if these runs are typical.")
    if any(run.chosen and run.best_epoch is not None for run in runs):
        parts.append("The dot is the chosen epoch.")
    if any(_emphasis(run) == "faint" for run in runs):
        parts.append("Faint lines are the other runs; point at one for its name.")
    return " ".join(parts)


def _line(run: RunLine, key: str) -> Line:
    points = [(epoch, row.get(key)) for row in run.history if (epoch := known(row.get("epoch"))) is not None]
    emphasis = _emphasis(run)
    mark = run.best_epoch if emphasis == "chosen" else None
    label = ", ".join([run_name(replace(run, settings={})), *run.settings.values()])  # short: values only
    return Line(label, points, emphasis, run_name(run, seed=True), mark)


def _emphasis(run: RunLine) -> Emphasis:
    if run.chosen:
        return "chosen"
    return "baseline" if run.method == BASELINE else "faint"


def _values(run: RunLine, key: str) -> list[float]:
    return [value for row in run.history if (value := known(row.get(key))) is not None]

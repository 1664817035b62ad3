"""SVG charts for reports: lines, histograms and heat maps, with hover text and dark mode.

Colours and fonts come from chart.css, so that charts follow the light or dark mode of the page. A
`standalone` chart includes the style sheet and can be a file of its own.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from noiselimit.information import least_error, uniform_noise_entropy
from noiselimit.report.content import finite, legal, percent, plain, shorten

WIDTH, HEIGHT = 480, 290
TOP, BOTTOM, RIGHT = 16, 44, 12
FOOT = float(HEIGHT - BOTTOM)
LETTER = 7.3  # mean width of a letter, with room for larger text on narrow screens
LINE_HEIGHT = 15
MAX_CLASSES = 30
CLASSES_WITH_NUMBERS = 12

Emphasis = Literal["chosen", "baseline", "faint"]
ORDER: tuple[Emphasis, ...] = ("chosen", "baseline", "faint")
KINDS = ("right", "wrong")
"""The colours of the groups of a histogram."""
Points = list[tuple[float, float]]
Counts = npt.NDArray[np.int64]


def text(words: str) -> str:
    """Escape words for XML."""
    return escape(legal(words))


def tag(name: str, *content: str, **attributes: object) -> str:
    """An SVG element. Content must be escaped. `kind` is the class; numbers get one decimal."""
    written = ""
    for key, value in attributes.items():
        key = "class" if key == "kind" else key.replace("_", "-")
        written += f' {key}="{f"{value:.1f}" if isinstance(value, float) else value}"'
    return f"<{name}{written}>{''.join(content)}</{name}>" if content else f"<{name}{written}/>"


def svg(
    title: str, body: Sequence[str], standalone: bool = False, width: float = WIDTH, height: float = HEIGHT
) -> str:
    """An SVG of this size."""
    size = f'width="{width:g}" height="{height:g}"'
    style = ""
    if standalone:
        sheet = files("noiselimit.report").joinpath("chart.css").read_text("utf-8")
        style = f'<style>{sheet}</style><rect class="paper" {size}/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {width:g} {height:g}" '
        f'{size if standalone else ""} role="img" aria-label="{text(title)}">'
        f"<title>{text(title)}</title>{style}{''.join(body)}</svg>\n"
    )


@dataclass(frozen=True)
class Scale:
    """A map from data values to pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def ticks(low: float, high: float, most: int, whole: bool = False) -> list[float]:
    """At most `most` multiples of 1, 2 or 5 × 10^k in [low, high]; integers only, if `whole`."""
    power = math.floor(math.log10((high - low) / most))
    for exponent in range(0 if whole and power < 0 else power, power + 20):
        for digit in (1, 2, 5):
            step = float(f"{digit}e{exponent}")
            first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
            if last - first < most:
                return [float(f"{count * step:.12g}") for count in range(first, last + 1)]
    return []


def powers(low: float, high: float) -> list[float]:
    """Powers of ten in [low, high]."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [float(f"1e{power}") for power in range(first, last + 1)]


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions as little as needed to stand `gap` apart inside [low, high], in the same order."""
    count = len(positions)
    if count > 1:
        gap = min(gap, (high - low) / (count - 1))
    order = sorted(range(count), key=lambda i: positions[i])
    moved, floor, ceiling = [0.0] * count, low, high
    for i in order:
        moved[i] = max(positions[i], floor)
        floor = moved[i] + gap
    for i in reversed(order):
        moved[i] = min(moved[i], ceiling)
        ceiling = moved[i] - gap
    return moved


def plot_start(heights: Mapping[float, str], y_label: str) -> float:
    """Where the plot begins: right of the axis title and the longest tick label."""
    return (30 if y_label else 14) + 7.6 * max((len(words) for words in heights.values()), default=0)


def frame(
    x: Scale, y: Scale, heights: Mapping[float, str], places: Sequence[float], x_label: str, y_label: str
) -> str:
    """Grid lines, axis, ticks and axis titles."""
    shapes = []
    for tick, words in heights.items():
        shapes.append(tag("line", kind="grid", x1=x.start, x2=x.end, y1=y(tick), y2=y(tick)))
        shapes.append(tag("text", text(words), kind="tick y", x=x.start - 7, y=y(tick) + 4))
    shapes.append(tag("line", kind="axis", x1=x.start, x2=x.end, y1=FOOT, y2=FOOT))
    for tick in places:
        shapes.append(tag("line", kind="axis", x1=x(tick), x2=x(tick), y1=FOOT, y2=FOOT + 4))
        shapes.append(tag("text", plain(tick), kind="tick x", x=x(tick), y=FOOT + 18))
    shapes.append(tag("text", text(x_label), kind="tick x", x=(x.start + x.end) / 2, y=HEIGHT - 6))
    if y_label:
        turned = f"translate(12 {(TOP + FOOT) / 2:.1f}) rotate(-90)"
        shapes.append(tag("text", text(y_label), kind="tick x", transform=turned))
    return "".join(shapes)


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
    """Hover text; the label if empty."""
    mark: float | None = None
    """The x at which the line carries a dot."""
    label_at: float | None = None
    """The x at which the label is written on the line, instead of at its end."""
    strength: float = 1.0
    """Opacity."""
    dashed: bool = False

    @property
    def parts(self) -> list[Points]:
        """The line cut where a value is missing, and thinned to about 200 points."""
        found: list[Points] = [[]]
        for x, value in self.points:
            y = finite(value)
            if y is not None:
                found[-1].append((x, y))
            elif found[-1]:
                found.append([])
        return [part[: -1 : -(-len(part) // 200)] + part[-1:] for part in found if part]


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
    """Draw lines, such as accuracy per epoch, as SVG.

    `reference` is a labelled level; `log` makes both axes logarithmic.
    """
    xs = [x for line in lines for part in line.parts for x, _ in part]
    if not xs:
        return svg(title, [], standalone)
    labels = _end_labels(lines)
    longest = max((len(label) for label, *_ in labels), default=0)
    right = WIDTH - RIGHT - (8 + LETTER * longest if longest else 0)
    low, high = (min(xs), max(xs)) if min(xs) < max(xs) else (min(xs) - 0.5, max(xs) + 0.5)
    heights = {tick: y_format(tick) for tick in (powers(*y_span) if log else ticks(*y_span, 6))}
    x, y = Scale(low, high, plot_start(heights, y_label), right, log), Scale(*y_span, FOOT, TOP, log)
    x_ticks = x_ticks or (powers(low, high) if log else ticks(low, high, 6, whole=high - low >= 1))
    body = [frame(x, y, heights, x_ticks, x_label, y_label)]
    name = ""
    if reference is not None and y_span[0] <= reference[0] <= y_span[1]:
        level = y(reference[0])
        body.append(tag("line", kind="reference", x1=x.start, x2=right, y1=level, y2=level))
        name = tag("text", text(reference[1]), kind="soft y halo", x=right - 4, y=level + 15)
    body += [_draw(line, x, y) for emphasis in reversed(ORDER) for line in lines if line.emphasis == emphasis]
    places = spread([y(height) for *_, height in labels], LINE_HEIGHT, TOP, FOOT)
    names = [_draw_label(*label, place, x, y) for label, place in zip(labels, places, strict=True)]
    return svg(title, [*body, name, *names], standalone)


def _draw(line: Line, x: Scale, y: Scale) -> str:
    shapes = [tag("title", text(line.tooltip or line.label))]
    for part in line.parts:
        if len(part) == 1:
            shapes.append(tag("circle", kind="lone", cx=x(part[0][0]), cy=y(part[0][1]), r=2.5))
        else:
            path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in part)
            shapes.append(
                tag("polyline", points=path, **({"stroke_dasharray": "6 4"} if line.dashed else {}))
            )
    heights = {a: height for a, b in line.points if (height := finite(b)) is not None}
    if line.mark in heights:
        shapes.append(tag("circle", kind="mark", cx=x(line.mark), cy=y(heights[line.mark]), r=4.5))
    if line.label_at in heights:
        kind, place = f"label on-line x {line.emphasis}", y(heights[line.label_at]) + 4
        shapes.append(tag("text", text(line.label), kind=kind, x=x(line.label_at), y=place))
    return tag("g", *shapes, kind=f"line {line.emphasis}", opacity=f"{line.strength:.2f}")


def _end_labels(lines: Sequence[Line]) -> list[tuple[str, Line, float, float]]:
    """Label, first line, and mean end point of the lines that share a label; chosen lines first."""
    ends: dict[tuple[Emphasis, str], list[tuple[Line, float, float]]] = {}
    for emphasis in ORDER[:2]:
        for line in lines:
            if line.emphasis == emphasis and line.label_at is None and line.parts:
                ends.setdefault((emphasis, line.label), []).append((line, *line.parts[-1][-1]))
    room = int((FOOT - TOP) // LINE_HEIGHT)
    return [
        (shorten(label, 26), own[0][0], max(x for _, x, _ in own), sum(y for *_, y in own) / len(own))
        for (_, label), own in list(ends.items())[:room]
    ]


def _draw_label(label: str, line: Line, end: float, height: float, place: float, x: Scale, y: Scale) -> str:
    """The label right of the plot, with a leader if it is not beside the end of its line."""
    name = tag("text", text(label), kind=f"label {line.emphasis}", x=x.end + 8, y=place + 4)
    if abs(place - y(height)) <= 2 and x.end - x(end) <= 2:
        return name
    kind = f"leader {line.emphasis}"
    return tag("line", kind=kind, x1=x(end), y1=y(height), x2=x.end + 6, y2=place) + name


def histogram(
    series: Mapping[str, npt.NDArray[np.floating]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    span: tuple[float, float],
    bins: int = 28,
    threshold: tuple[float, str] | None = None,
) -> str:
    """Draw stacked histograms of one or two named groups of values [n] as SVG.

    Values that are not finite are left out; the second group holds wrong labels. `threshold` is a labelled
    value, marked by a vertical line.
    """
    counts = np.stack([histogram_counts(values, bins, span) for values in series.values()])
    if counts.sum() == 0:
        return svg(title, [])
    tallest = float(counts.sum(axis=0).max())
    step = (*ticks(0, tallest, 5, whole=True), 1.0)[1]
    y = Scale(0, step * math.ceil(tallest / step), FOOT, TOP + (18 if len(series) > 1 else 0))
    heights = {tick: f"{tick:,.0f}" for tick in ticks(0, y.high, 6, whole=True)}
    x = Scale(*span, plot_start(heights, y_label), WIDTH - RIGHT - 8)
    edges = np.linspace(*span, bins + 1).tolist()
    body = [frame(x, y, heights, ticks(*span, 8), x_label, y_label)]
    body += [
        _bin(list(series), counts[:, i], edges[i], edges[i + 1], x, y)
        for i in range(bins)
        if counts[:, i].any()
    ]
    if threshold is not None and span[0] <= threshold[0] <= span[1]:
        body.append(_threshold(x(threshold[0]), threshold[1], x, y))
    if len(series) > 1:
        body.append(legend(list(series), x.start))
    return svg(title, body)


def histogram_counts(values: npt.NDArray[np.floating], bins: int, span: tuple[float, float]) -> Counts:
    """Counts [bins] of the finite values; values outside the span go to the end bins."""
    finite_values = values[np.isfinite(values)].astype(np.float64)
    return np.histogram(np.clip(finite_values, *span), bins=bins, range=span)[0].astype(np.int64)


def _bin(names: Sequence[str], counts: Counts, low: float, high: float, x: Scale, y: Scale) -> str:
    """The bars of one bin with hover text."""
    shapes = [hover_text(names, counts, low, high)]
    foot, width = y.start, max(x(high) - x(low) - 1, 0.5)
    for kind, count in zip(KINDS, counts, strict=False):
        if count:
            height = max(y.start - y(float(count)), 1.0)  # a single example stays visible
            foot -= height
            shapes.append(tag("rect", kind=f"bar {kind}", x=x(low) + 0.5, y=foot, width=width, height=height))
    return tag("g", *shapes)


def hover_text(names: Sequence[str], counts: Counts, low: float, high: float) -> str:
    """The counts of one bin in words."""
    named = ", ".join(f"{count} {name}" for name, count in zip(names, counts, strict=True))
    return tag("title", f"{low:.2f} to {high:.2f}: {text(named)}")


def _threshold(place: float, label: str, x: Scale, y: Scale) -> str:
    left = place - x.start > x.end - place  # the label stands on the side with more room
    line = tag("line", kind="threshold", x1=place, x2=place, y1=float(y.end), y2=y.start)
    kind = "label halo y" if left else "label halo"
    return line + tag("text", text(label), kind=kind, x=place + (-6 if left else 6), y=y.end + 12.0)


def legend(names: Sequence[str], place: float, look: str = "bar") -> str:
    """Names of the groups of a histogram, side by side above the plot."""
    shapes = []
    for name, kind in zip(names, KINDS, strict=False):
        shapes.append(tag("rect", kind=f"{look} {kind}", x=place, y=6, width=11, height=11))
        shapes.append(tag("text", text(name), x=place + 16, y=16))
        place += 36 + LETTER * len(name)
    return tag("g", *shapes, kind="legend")


def heat_map(transition: npt.NDArray[np.floating], names: Sequence[str]) -> str:
    """Draw P(given | true) [C true, C given] as SVG, for at most MAX_CLASSES classes.

    Off the diagonal, the colour grows with the square root of the share and is full at the largest one.
    """
    classes = len(names)
    short = [shorten(name, 14) for name in names]
    room = 7.0 * max(map(len, short))
    left, top = 34 + room, 36 + room
    width = 480 if classes <= CLASSES_WITH_NUMBERS else 960
    side = min((width - left - 12) / classes, 56.0)
    highest = float(np.where(np.eye(classes, dtype=bool), 0.0, transition).max()) or 1.0
    turned = f"translate(12 {top:.1f}) rotate(-90)"
    body = [
        tag("text", "given label", kind="tick", x=left, y=14),
        tag("text", "true label", kind="tick y", transform=turned),
    ]
    for place, name in enumerate(short):
        middle = (place + 0.5) * side + 4
        turned = f"translate({left + middle:.1f} {top - 6:.1f}) rotate(-90)"
        body.append(tag("text", text(name), kind="tick y", x=left - 6, y=top + middle))
        body.append(tag("text", text(name), kind="tick", transform=turned))
    for true, given in np.ndindex(classes, classes):
        share = float(transition[true, given])
        strength = share if true == given else math.sqrt(share / highest)
        hover = f"true label {names[true]}, given label {names[given]}: {percent(share, 2)}"
        corner = {"x": left + given * side, "y": top + true * side}
        kind = "cell right" if true == given else "cell wrong"
        cell = tag("rect", kind=kind, **corner, width=side, height=side, fill_opacity=f"{0.6 * strength:.3f}")
        number = ""
        if classes <= CLASSES_WITH_NUMBERS and share >= 0.0005:
            words = f"{100 * share:.0f}" if share >= 0.0995 else f"{100 * share:.1f}"
            centre = {"x": corner["x"] + side / 2, "y": corner["y"] + side / 2 + 4}
            number = tag("text", words, kind="share x", **centre)
        body.append(tag("g", tag("title", text(hover)), cell, number))
    return svg("Transition matrix", body, width=width, height=round(top + side * classes + 10))


def fano_curve(probability: float | str, classes: int) -> dict[str, Any]:
    """Least training error against memorised bits, for uniform noise with this probability."""
    entropy = uniform_noise_entropy(probability, classes)
    bits = np.linspace(0, entropy, 161)
    error = least_error(entropy, bits, classes)
    return {"noise": float(probability), "bits": bits.tolist(), "least_error": error.tolist()}


def fano_chart(curves: Sequence[Mapping[str, Any]], classes: int) -> str:
    """Draw the curves as an SVG file, each with its probability written on it."""
    lines = [
        Line(
            f"p = {curve['noise']:g}",
            list(zip(curve["bits"], curve["least_error"], strict=True)),
            "chosen",
            label_at=curve["bits"][32],  # where usual curves are well apart
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

"""Histogram as SVG text: bars that are stacked, or outlines over each other where counts differ much."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import numpy as np
import numpy.typing as npt

from noiselimit.report.axes import BOTTOM, HEIGHT, LETTER, RIGHT, TOP, WIDTH, empty, frame, left
from noiselimit.report.scales import Scale, log_ticks, round_above, ticks
from noiselimit.report.svg import svg, text
from noiselimit.report.wording import plain

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

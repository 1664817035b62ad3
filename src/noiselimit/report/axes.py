"""The frame of a chart: its size, ticks and grid, the names of its axes."""

from collections.abc import Mapping

from noiselimit.report.scales import Scale
from noiselimit.report.svg import svg, text

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

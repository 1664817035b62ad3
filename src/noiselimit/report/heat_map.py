"""A transition matrix as a heat map: right classes down, given classes across."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from noiselimit.report.svg import svg, text
from noiselimit.report.wording import percent, shorten

MOST_CLASSES = 30
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
    """SVG of P(given | right) [C right, C given], for at most MOST_CLASSES classes.

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

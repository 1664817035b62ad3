"""Several charts as one picture."""

from collections.abc import Sequence

from noiselimit.report.axes import HEIGHT, WIDTH
from noiselimit.report.svg import text


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

"""Which LIMIT a figure trains for itself where the paper shows "the best instances of LIMIT"."""

from noiselimit.reproduce.paper import paper_figure
from noiselimit.reproduce.studies import STUDIES, Cell

LIMITS = ("limit-l", "limit-g", "limit-l+init", "limit-g+init")


def limit_cells(data: str, noise: str, p: float | None, n: int | None) -> tuple[Cell, ...]:
    """The cells of LIMIT without sampling on this problem, those that do best in the paper first."""
    cells = [
        cell
        for cell in STUDIES[data].cells
        if (cell.noise, cell.p, cell.n) == (noise, p, n) and cell.method in LIMITS
    ]

    def printed(cell: Cell) -> float:
        found = paper_figure(cell.data, cell.noise, cell.p, cell.n, cell.method)
        return 0.0 if found is None else found.accuracy

    return tuple(sorted(cells, key=printed, reverse=True))

"""Where something is true, in few words: cells of a table by method and problem, for docs/results.md."""

from collections.abc import Mapping, Sequence

from noiselimit.reproduce.paper import LABELS
from noiselimit.reproduce.studies import STUDIES, Cell


def places_text(details: Mapping[Cell, str]) -> str:
    """'CE, MAE at n = 1,000; DMI at uniform:0.8/1000 (seed 0)', methods with the same places together."""
    by_method: dict[str, list[Cell]] = {}
    for cell in details:
        by_method.setdefault(cell.method, []).append(cell)
    by_place: dict[str, list[str]] = {}
    for method, cells in by_method.items():
        by_place.setdefault(_problems(cells, details), []).append(LABELS[method])
    return "; ".join(f"{', '.join(methods)} at {place}" for place, methods in by_place.items())


def _problems(cells: Sequence[Cell], details: Mapping[Cell, str]) -> str:
    """Problems of one method: whole sizes and whole tables by name, the rest one by one."""
    if any(details[cell] for cell in cells):
        return ", ".join(f"{c.problem} ({details[c]})" if details[c] else c.problem for c in cells)
    table = [cell for cell in STUDIES[cells[0].data].cells if cell.method == cells[0].method]
    if len(table) > 1 and set(cells) >= set(table):
        return "every problem"
    sizes = sorted({cell.n for cell in table if cell.n is not None})
    whole = [size for size in sizes if {cell for cell in table if cell.n == size} <= set(cells)]
    named = [f"n = {' and '.join(f'{size:,}' for size in whole)}"] if whole and len(sizes) > 1 else []
    rest = [cell.problem for cell in cells if not named or cell.n not in whole]
    return ", ".join([*named, *rest])

"""Whether an accuracy in docs/results.md is of a lucky epoch: the last ones and the next best beside it."""

from statistics import fmean

from noiselimit.reproduce.cell_result import CellResult
from noiselimit.reproduce.cells import cell_rows
from noiselimit.reproduce.figures.curves import Curves
from pages.results.numbers import Measured, mean_percent

LATE = 40
"""Epochs, a tenth of those that the paper allows."""
FIRST = 8
"""Epochs that validation prefers, of which the chosen one is the first."""


def late_text(result: CellResult, measured: Measured, wanted: float) -> str:
    """What the chosen runs have on the test examples in other epochs; empty without all their curves."""
    of_value = cell_rows(result.cell, measured.rows[result.cell.data])[result.hyper]
    rows = [row for row in of_value if row.has_result]
    found = [measured.curves.get((row.key, row.epochs)) for row in rows]
    curves = [one for one in found if one is not None and one.test]
    if not curves or len(curves) < len(found):
        return ""
    last = 100 * fmean(fmean(one.test[-LATE:]) for one in curves)
    before = [fmean(one.test[-2 * LATE : -LATE]) for one in curves if len(one.test) >= 2 * LATE]
    rose = f", over the {LATE} before {100 * fmean(before):.2f} %" if len(before) == len(curves) else ""
    less = ", less than is wanted" if last < wanted <= result.accuracy else ""
    return (
        f" At the epoch that validation chose it is {mean_percent(rows, 'test_accuracy'):.2f} %, in the mean "
        f"over the last {LATE} epochs {last:.2f} %{less}{rose}."
        f"{_next_best(curves[0], wanted) if len(curves) == 1 else ''}"
    )


def _next_best(curves: Curves, wanted: float) -> str:
    """What the epochs have that validation prefers next: how much hangs on the choice of one."""
    order = sorted(range(len(curves.validation)), key=lambda epoch: -curves.validation[epoch])[:FIRST]
    if len(order) < FIRST:
        return ""
    first, second = order[:2]
    behind = 100 * (curves.validation[first] - curves.validation[second])
    reach = sum(100 * curves.test[epoch] >= wanted for epoch in order)
    return (
        f" The epoch that validation puts second, {behind:.2f} points behind, has "
        f"{100 * curves.test[second]:.2f} %; of its first {FIRST}, {reach} have what is wanted."
    )

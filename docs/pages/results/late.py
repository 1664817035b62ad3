"""Whether an accuracy in docs/results.md is of a lucky epoch: the mean over the last ones beside it."""

from statistics import fmean

from noiselimit.reproduce.cell_result import CellResult
from noiselimit.reproduce.cells import cell_rows
from pages.results.numbers import Measured, mean_percent

LATE = 40
"""Epochs, a tenth of those that the paper allows."""


def late_text(result: CellResult, measured: Measured) -> str:
    """What the chosen runs have on the test examples in their last epochs; empty without all their curves."""
    of_value = cell_rows(result.cell, measured.rows[result.cell.data])[result.hyper]
    rows = [row for row in of_value if row.has_result]
    curves = [measured.curves.get((row.key, row.epochs)) for row in rows]
    late = [fmean(curve.test[-LATE:]) for curve in curves if curve is not None and curve.test]
    if not late or len(late) < len(curves):
        return ""
    return (
        f" At the epoch that validation chose it is {mean_percent(rows, 'test_accuracy'):.2f} %, in the mean "
        f"over the last {LATE} epochs {100 * fmean(late):.2f} %."
    )

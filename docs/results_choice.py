"""What noisy validation saw of a grid's values, in docs/results.md, and how sure its choice is."""

from math import sqrt

from advantage import advantage
from results_numbers import Measured, mean_percent, value_text

from noiselimit.reproduce.cell_result import CellResult
from noiselimit.reproduce.cells import cell_rows
from noiselimit.reproduce.protocol import protocol_for
from noiselimit.reproduce.rows import ResultRow


def grid_of(result: CellResult, measured: Measured) -> dict[str, list[ResultRow]]:
    """Value of the grid → its rows of the compared seeds, what validation prefers first."""
    found = {}
    for value, rows in cell_rows(result.cell, measured.rows[result.cell.data]).items():
        own = [row for row in rows if row.has_result and row.seed in result.compared_seeds]
        if len(own) == len(result.compared_seeds):
            found[value] = sorted(own, key=lambda row: row.seed)
    return dict(sorted(found.items(), key=lambda one: -mean_percent(one[1], "validation_accuracy")))


def in_sight(result: CellResult) -> tuple[float, float]:
    """What a point of accuracy adds to noisy validation under uniform noise, and how sure that is, in points.

    A right prediction agrees with the noisy label with probability 1 − p, a wrong one with p / (c − 1).
    """
    classes, p = protocol_for(result.cell.data).classes, result.cell.p or 0.0
    error = standard_error(result.validation_accuracy / 100, result.cell.data, len(result.compared_seeds))
    return advantage(1 - p, classes), error


def standard_error(share: float, data: str, seeds: int) -> float:
    """Of a mean validation accuracy over seeds, in points."""
    examples = protocol_for(data).full_size // 4 * seeds  # a fifth of all is held out
    return 100 * sqrt(share * (1 - share) / examples)


def close_call(result: CellResult, measured: Measured) -> str:
    """The value that validation puts second, where chance may have decided; empty where it hardly has."""
    values, (_, error) = grid_of(result, measured), in_sight(result)
    second = next((value for value in values if value != result.hyper), None)
    if second is None:
        return ""
    first, other = (mean_percent(values[value], "validation_accuracy") for value in (result.hyper, second))
    if first - other > error:
        return ""
    return (
        f"Validation prefers {value_text(result.hyper)} to {value_text(second)} by {first - other:.2f} "
        f"points, less than the standard error of {error:.2f}; with {value_text(second)} the test accuracy "
        f"is {mean_percent(values[second], 'test_accuracy'):.1f}."
    )

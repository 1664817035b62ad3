"""What noisy validation saw of a grid's values and chose, in docs/results*.md, and how sure its choice is."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import median

from noiselimit.reproduce.cell_result import CellResult
from noiselimit.reproduce.cells import cell_rows
from noiselimit.reproduce.comparison import compare
from noiselimit.reproduce.paper import LABELS
from noiselimit.reproduce.protocol import protocol_for
from noiselimit.reproduce.rows import ResultRow
from pages.advantage import advantage
from pages.results.numbers import NAMES, Measured, mean_percent, value_text


def grid_of(result: CellResult, measured: Measured) -> dict[str, list[ResultRow]]:
    """Value of the grid → its rows of the compared seeds, what validation prefers first."""
    found = {}
    for value, rows in cell_rows(result.cell, measured.rows[result.cell.data]).items():
        own = [row for row in rows if row.has_result and row.seed in result.compared_seeds]
        if len(own) == len(result.compared_seeds):
            found[value] = sorted(own, key=lambda row: row.seed)
    ranking = compare(found)
    return {value: found[value] for value in (ranking.ranked if ranking else ())}


def in_sight(result: CellResult) -> tuple[float, float]:
    """What a point of accuracy adds to noisy validation under uniform noise, and how sure that is, in points.

    A right prediction agrees with the noisy label with probability 1 − p, a wrong one with p / (c − 1).
    """
    classes, p = protocol_for(result.cell.data).classes, result.cell.p or 0.0
    error = standard_error(result.validation_accuracy / 100, result.cell.data, len(result.compared_seeds))
    return advantage(1 - p, classes), error


def standard_error(share: float, data: str, seeds: int) -> float:
    """Of a mean validation accuracy over seeds, in points."""
    examples = protocol_for(data).validation_examples * seeds
    return 100 * sqrt(share * (1 - share) / examples)


@dataclass(frozen=True)
class Second:
    """The value of a grid that validation puts second."""

    value: str
    behind: float
    """By how many points of validation."""
    accuracy: float
    """On the test examples, over the seeds that were compared."""
    chosen_accuracy: float
    """The same of the chosen value."""


def second_of(result: CellResult, measured: Measured) -> Second | None:
    """None where nothing was compared with the chosen value."""
    values = grid_of(result, measured)
    value = next((value for value in values if value != result.hyper), None)
    if value is None or result.hyper not in values:
        return None
    first, other = values[result.hyper], values[value]
    behind = mean_percent(first, "validation_accuracy") - mean_percent(other, "validation_accuracy")
    return Second(value, behind, mean_percent(other, "test_accuracy"), mean_percent(first, "test_accuracy"))


def close_call(result: CellResult, measured: Measured) -> str:
    """The value that validation puts second, where chance may have decided; empty where it hardly has."""
    second, (_, error) = second_of(result, measured), in_sight(result)
    if second is None or second.behind > error:
        return ""
    return (
        f"Validation prefers {value_text(result.hyper)} to {value_text(second.value)} by "
        f"{second.behind:.2f} points, less than the standard error of {error:.2f} of one accuracy; with "
        f"{value_text(second.value)} the test accuracy is {second.accuracy:.1f}."
    )


def how_sure(results: Sequence[CellResult], measured: Measured) -> str:
    """In how many of these grids chance may have decided, and what hangs on it."""
    seconds = {result: second for result in results if (second := second_of(result, measured)) is not None}
    close = [second for result, second in seconds.items() if second.behind <= in_sight(result)[1]]
    if not close:
        return ""
    apart = [abs(second.accuracy - second.chosen_accuracy) for second in close]
    return (
        f"- Of {len(seconds)} grids on MNIST, the value that validation puts second is within the "
        f"standard error of one accuracy of the first in {len(close)}. The test accuracies of the two are "
        f"then {median(apart):.1f} points apart in the median, {max(apart):.1f} at most."
    )


def chosen_values(measured: Measured) -> str:
    """What noisy validation chose, for every method that searches something."""
    problems = list(dict.fromkeys((cell.data, cell.problem) for cell in measured.results))
    methods = [m for m in LABELS if any(c.method == m and r.hyper for c, r in measured.results.items())]
    if not methods:
        return "No run yet."
    lines = [
        "| data | problem | " + " | ".join(LABELS[method] for method in methods) + " |",
        "| --- | --- |" + " --- |" * len(methods),
    ]
    for data, problem in problems:
        by_method = {
            cell.method: result
            for cell, result in measured.results.items()
            if (cell.data, cell.problem) == (data, problem)
        }
        cells = [value_text(by_method[m].hyper) if m in by_method else "" for m in methods]
        if any(cells):
            lines.append(f"| {NAMES[data]} | {problem} | " + " | ".join(cells) + " |")
    return "\n".join(lines)

"""Where LIMIT stays below the paper in docs/results.md: what its grid gave, and what validation could see."""

from math import sqrt
from statistics import fmean

from results_numbers import LABELS, Measured, value_text

from noiselimit.reproduce.cell_result import CellResult
from noiselimit.reproduce.cells import cell_rows
from noiselimit.reproduce.protocol import protocol_for


def grid_of(result: CellResult, measured: Measured) -> dict[str, tuple[float, float]]:
    """Value of the grid → mean noisy-validation and clean test accuracy in %, over the compared seeds."""
    found = {}
    for value, rows in cell_rows(result.cell, measured.rows[result.cell.data]).items():
        own = [row for row in rows if row.has_result and row.seed in result.compared_seeds]
        if len(own) == len(result.compared_seeds):
            found[value] = (
                100 * fmean(row.validation_accuracy or 0.0 for row in own),
                100 * fmean(row.test_accuracy or 0.0 for row in own),
            )
    return dict(sorted(found.items(), key=lambda one: -one[1][0]))


def in_sight(result: CellResult) -> tuple[float, float]:
    """What a point of accuracy adds to noisy validation under uniform noise, and how sure that is, in points.

    A right prediction agrees with the noisy label with probability 1 − p, a wrong one with p / (c − 1).
    """
    protocol, p = protocol_for(result.cell.data), result.cell.p or 0.0
    examples = protocol.full_size // 4 * len(result.compared_seeds)  # a fifth of all is held out
    share = result.validation_accuracy / 100
    return 1 - p - p / (protocol.classes - 1), 100 * sqrt(share * (1 - share) / examples)


def explained(result: CellResult, measured: Measured) -> str:
    """The grid of a cell by rank, and whether validation can tell its values apart."""
    values = grid_of(result, measured)
    point, error = in_sight(result)
    best = max(values, key=lambda value: values[value][1])
    name = f"{LABELS[result.cell.method]} at {result.cell.problem}"
    lines = [
        f"{name}, means of {len(result.compared_seeds)} seeds:",
        "",
        "| | " + " | ".join(value_text(value) for value in values) + " |",
        "| --- |" + " ---: |" * len(values),
        "| noisy validation, % | " + " | ".join(f"{seen:.2f}" for seen, _ in values.values()) + " |",
        "| clean test, % | " + " | ".join(f"{test:.1f}" for _, test in values.values()) + " |",
        "",
        f"Ten points of test accuracy are {10 * point:.2f} points on labels with this noise, and the means "
        f"above are known to ± {error:.2f}. The highest mean test accuracy of the grid, "
        f"{values[best][1]:.1f} with {value_text(best)}, is number {list(values).index(best) + 1} "
        f"of {len(values)} by validation.",
    ]
    return "\n".join(lines)


def lower(below: list[CellResult], measured: Measured) -> str:
    """All of them, one after the other; nothing where there is none."""
    return "\n\n".join(explained(result, measured) for result in below)

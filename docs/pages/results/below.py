"""Cells below the paper's, for its pages: which, what their grids gave, and what validation could see."""

from collections.abc import Sequence

from noiselimit.reproduce.cell_result import CellResult, most_agreeing
from noiselimit.reproduce.paper import LABELS
from pages.results.choice import close_call, grid_of, in_sight
from pages.results.numbers import Measured, mean_percent, signed, value_text
from pages.results.places import places_text

OTHER_NOISE = (
    " CE + GN and CE + LN are not quite the author's: see [what differs](#what-differs-from-the-paper)."
)
LINE = "the [line](results.md#against-the-papers-claims)"
SHOWN = 8
"""Values of a large grid that are worth a column."""


def listed(results: Sequence[CellResult]) -> str:
    """'CE at uniform:0.5/1000: 57.68, −14.1, line 65.43; …'."""
    return "; ".join(
        f"{LABELS[result.cell.method]} at {result.cell.problem}: {result.accuracy:.2f}, "
        f"{signed(result.shown_difference or 0.0)}, line {result.threshold or 0.0:.2f}"
        for result in results
    )


def explained(result: CellResult, measured: Measured) -> str:
    """The grid of a cell by rank, and whether validation can tell its values apart."""
    values = grid_of(result, measured)
    point, error = in_sight(result)
    tests = {value: mean_percent(rows, "test_accuracy") for value, rows in values.items()}
    best = max(tests, key=lambda value: tests[value])
    shown = list(dict.fromkeys([*list(values)[:SHOWN], best]))
    rest = "" if len(shown) == SHOWN else " and the best on the test examples"
    seen = [f"{mean_percent(values[value], 'validation_accuracy'):.2f}" for value in shown]
    lines = [
        f"{LABELS[result.cell.method]} at {result.cell.problem}, by validation"
        f"{'' if len(shown) == len(values) else f', the first {SHOWN} of {len(values)} values{rest}'}:",
        "",
        "| | " + " | ".join(value_text(value) for value in shown) + " |",
        "| --- |" + " ---: |" * len(shown),
        _line("noisy validation, %", seen),
        *(
            [_line("clean test, %", [f"{tests[value]:.1f}" for value in shown])]
            if len(result.compared_seeds) > 1
            else []
        ),
    ]
    for number, seed in enumerate(result.compared_seeds):
        of_seed = [values[value][number] for value in shown]
        cells = [f"{100 * (row.test_accuracy or 0.0):.1f} ({row.best_epoch})" for row in of_seed]
        lines.append(_line(f"test, seed {seed} (its epoch)", cells))
    ran = [row.epochs_run for rows in values.values() for row in rows]
    lines += [
        "",
        f"Ten points of test accuracy are {10 * point:.2f} points on labels with this noise. The validation "
        f"accuracies above have a standard error of {error:.2f}, and each is of the best of {min(ran)} to "
        f"{max(ran)} epochs. The highest test accuracy of the grid, {tests[best]:.1f} with "
        f"{value_text(best)}, is number {list(values).index(best) + 1} of {len(values)} by validation. "
        f"{close_call(result, measured)}".rstrip(),
    ]
    return "\n".join(lines)


def others(results: Sequence[CellResult]) -> str:
    """How cells of other methods stand to the same line, and to the one as far above."""
    known = [result for result in results if result.threshold is not None]
    below = [result for result in known if not result.meets]
    said = f"- MNIST, other methods: {len(below)} of {len(known)} cells are below {LINE}"
    said += f": {listed(below)}." if below else "."
    noisy = any(result.cell.method in ("ce-gn", "ce-ln") and is_as_far_above(result) for result in known)
    return said + above_text(known) + (OTHER_NOISE if noisy else "")


def above_text(results: Sequence[CellResult]) -> str:
    """' 6 are as far above the paper's: …'; empty where none is."""
    above = [result for result in results if is_as_far_above(result)]
    places = places_text({result.cell: "" for result in above})
    return f" As far above the paper's, {len(above)}: {places}." if above else ""


def is_as_far_above(result: CellResult) -> bool:
    """Whether the accuracy is above the paper's by more than the line is below it."""
    if result.paper is None:
        return False
    return result.accuracy > most_agreeing(result.paper, len(result.seeds))


def _line(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | " + " | ".join(cells) + " |"

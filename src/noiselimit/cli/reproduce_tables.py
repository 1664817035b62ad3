"""Tables of `noiselimit reproduce`: what there is, what is left, what was measured beside the paper's."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from noiselimit.cli.console import say

if TYPE_CHECKING:
    from noiselimit.reproduce.cell_result import CellResult, Runs
    from noiselimit.reproduce.speed import Speed
    from noiselimit.reproduce.states import State
    from noiselimit.reproduce.studies import Cell

NONE = "–"


def print_states(states: Sequence["State"], speed: "Speed | None") -> None:
    """One line for each table and figure, and where the times are from."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name")
    for name in ("runs", "done", "time", "time left"):
        table.add_column(name, justify="right")
    table.add_column("what")
    for state in states:
        numbers = (str(state.runs), str(state.done), _time(state.hours), _time(state.hours_left))
        table.add_row(state.name, *numbers, state.title)
    say(table)
    if speed is None:
        print(
            "Times are not known: measure this device with 'noiselimit bench' and name the file by --bench."
        )
    else:
        print(
            f"Times on {speed.device}, by its bench, evaluation after every epoch included; how soon early "
            "stopping ends a run is taken from those that were made, else 60 % of the epochs allowed. "
            "Runs that a figure shares with a table count for both."
        )


def print_cells(
    results: Sequence["CellResult"], failed: Mapping["Cell", "Runs"], *, quick: bool = False
) -> None:
    """What was measured, one line for each cell; `failed` have runs, but no result.

    A `quick` trial is on other data: it has no difference from the paper's.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("problem", "method", "chosen"):
        table.add_column(name)
    for name in ("seeds", "test, %", "paper, %", "difference", "gap AUC"):
        table.add_column(name, justify="right")
    for result in results:
        paper, compared = result.paper, result.values_compared
        difference = None if quick else result.shown_difference
        table.add_row(
            result.cell.problem,
            result.cell.method,
            result.hyper + (f" ({compared} of {result.values})" if compared < result.values else ""),
            str(len(result.seeds)),
            f"{result.accuracy:.1f} ± {result.std:.1f}",
            NONE if paper is None else paper.text,
            NONE if difference is None else f"{difference:+.1f}",
            NONE if result.gap_auc is None else f"{result.gap_auc:.4f}",
        )
    for cell, runs in failed.items():
        table.add_row(cell.problem, cell.method, NONE, "0", f"failed ({len(runs)})", NONE, NONE, NONE)
    say(table)
    count = sum(len(result.failed) for result in results) + sum(map(len, failed.values()))
    if count == 1:
        print("1 run failed in its first epoch and counts for nothing; it is not run again.")
    elif count:
        print(f"{count} runs failed in their first epoch and count for nothing; they are not run again.")


def _time(hours: float | None) -> str:
    """In the largest unit of which there is one, so that quick trials and the paper's both say something."""
    if hours is None:
        return NONE
    if not hours:
        return "0"
    for unit, each in (("h", hours), ("min", 60 * hours)):
        if each >= 1:
            return f"{each:,.0f} {unit}" if each >= 10 else f"{each:.1f} {unit}"
    return f"{3600 * hours:.0f} s" if 3600 * hours >= 1 else "< 1 s"

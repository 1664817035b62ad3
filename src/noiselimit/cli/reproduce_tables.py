"""Tables of `noiselimit reproduce`: what there is, what is left, what was measured beside the paper's."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from noiselimit.cli.console import say
from noiselimit.cli.durations import NONE, duration, scaled_words

if TYPE_CHECKING:
    from noiselimit.reproduce.cell_result import CellResult, Runs
    from noiselimit.reproduce.speed import Speed
    from noiselimit.reproduce.states import State
    from noiselimit.reproduce.studies import Cell


def print_states(states: Sequence["State"], speed: "Speed | None") -> None:
    """One line for each table and figure, and where the times are from."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name")
    for name in ("runs", "done", "time", "time left"):
        table.add_column(name, justify="right")
    table.add_column("what")
    for state in states:
        scaled = state.scaled_from is not None
        times = [
            duration(None if hours is None else 3600 * hours, scaled=scaled)
            for hours in (state.hours, state.hours_left)
        ]
        table.add_row(state.name, str(state.runs), str(state.done), *times, state.title)
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
        networks = dict.fromkeys(state.scaled_from for state in states if state.scaled_from)
        if networks:
            print(scaled_words(*networks))


def print_cells(
    results: Sequence["CellResult"], failed: Mapping["Cell", "Runs"], *, quick: bool = False
) -> None:
    """What was measured, one line for each cell; `failed` have runs, but no result.

    A `quick` trial is on other data: it has no difference from the paper's. Epochs are told where some runs
    were not allowed the protocol's.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("problem", "method", "chosen"):
        table.add_column(name)
    other_epochs = any(set(result.epochs_allowed) != {result.protocol_epochs} for result in results)
    epochs = ("epochs",) if other_epochs else ()
    for name in ("seeds", *epochs, "test, %", "paper, %", "difference", "gap AUC"):
        table.add_column(name, justify="right")
    for result in results:
        paper, compared = result.paper, result.values_compared
        difference = None if quick else result.shown_difference
        table.add_row(
            result.cell.problem,
            result.cell.method,
            result.hyper + (f" ({compared} of {result.values})" if compared < result.values else ""),
            str(len(result.seeds)),
            *(f"{_span(result.epochs_run)} of {_span(result.epochs_allowed)}" for _ in epochs),
            f"{result.accuracy:.1f} ± {result.std:.1f}",
            NONE if paper is None else paper.text,
            NONE if difference is None else f"{difference:+.1f}",
            NONE if result.gap_auc is None else f"{result.gap_auc:.4f}",
        )
    for cell, runs in failed.items():
        empty = (NONE for _ in epochs)
        table.add_row(cell.problem, cell.method, NONE, "0", *empty, f"failed ({len(runs)})", NONE, NONE, NONE)
    say(table)
    if other_epochs:
        print(_about_epochs(results, quick=quick))
    count = sum(len(result.failed) for result in results) + sum(map(len, failed.values()))
    if count == 1:
        print("1 run failed in its first epoch and counts for nothing; it is not run again.")
    elif count:
        print(f"{count} runs failed in their first epoch and count for nothing; they are not run again.")


def _about_epochs(results: Sequence["CellResult"], *, quick: bool) -> str:
    most = results[0].protocol_epochs  # one table, one protocol
    said = f"epochs: taken, of those allowed; {'a quick trial' if quick else 'the paper'} allows {most}."
    if quick or not any(result.is_cut for result in results):
        return said
    return f"{said} What fewer ended neither meets the paper's figure nor misses it."


def _span(numbers: Sequence[int]) -> str:
    """'400', or '15–400' where seeds differ."""
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least}–{most}"

"""Runs as a table on stdout."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from noiselimit.errors import harmless

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

ENDLESS = 10_000  # columns: what does not fit is for the terminal to wrap, because cut numbers mislead


def output_console(width: int | None = ENDLESS) -> "Console":
    """A console on stdout that reads nothing as markup: names may contain brackets."""
    from rich.console import Console

    plain = bool(os.environ.get("NO_COLOR"))  # rich would still make text bold or dim
    return Console(
        color_system=None if plain else "auto", width=width, highlight=False, markup=False, emoji=False
    )


def fits(thing: "RenderableType") -> bool:
    """Whether the thing is no wider than the terminal; a file or a pipe has room for everything."""
    terminal = output_console(width=None)
    return not terminal.is_terminal or output_console().measure(thing).maximum <= terminal.width


def say(*things: "RenderableType") -> None:
    """Print without the blanks that pad the ends of a table's lines."""
    from rich.segment import Segment, Segments

    console = output_console()
    with console.capture() as captured:
        for thing in things:
            pieces = [
                Segment(harmless(text), style, control) for text, style, control in console.render(thing)
            ]
            console.print(Segments(pieces), end="")  # names come from files, and may hold anything
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


if TYPE_CHECKING:
    from rich.table import Table

    from noiselimit.runs.run import Run

NUMBERS = (  # headers narrow enough for a terminal of 80 columns
    "best\nepoch",
    "valid.",
    "test at\nbest",
    "test at\nlast",
    "wrong\nlabels\nmemorised",
    "gap\nROC\nAUC",
)
NONE = "–"


def print_runs(runs: Sequence["Run"], *, folders: bool = True) -> None:
    """One line per run; a star marks those that validation chose.

    Folders are in the table where there is room, else listed below: a folded name cannot be copied.
    """
    table = _table(runs, folders=folders)
    if not folders or fits(table):
        say(table)
    else:
        say(_table(runs, folders=False), "folders, in the same order:", *(str(run.path) for run in runs))


def print_choice(runs: Sequence["Run"], report: Path) -> None:
    """The line below the table."""
    from noiselimit.report.runs import validation_kind
    from noiselimit.runs.selection import choose

    star = f"★ chosen by {validation_kind(runs)} validation labels. " if any(choose(runs)) else ""
    print(f"{star}Look at {report}")


def _table(runs: Sequence["Run"], *, folders: bool) -> "Table":
    from rich.table import Table

    from noiselimit.report.content import symbol
    from noiselimit.report.runs import describe, differing_settings, readable, validation_kind
    from noiselimit.runs.selection import choose

    settings = differing_settings(runs)
    hyper = list(dict.fromkeys(name for run in runs for name in run.spec.hyper))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("  method")
    names = [symbol(name) for name in hyper] + [name.replace("_", "\n") for name in settings]
    numbers = (NUMBERS[0], f"{validation_kind(runs)}\n{NUMBERS[1]}", *NUMBERS[2:])
    for name in (*names, "seed", *numbers):
        table.add_column(name, justify="right")
    if folders:
        table.add_column("folder")
    for run, chosen in zip(runs, choose(runs), strict=True):
        metrics = run.metrics
        cells = [
            f"{'★' if chosen else ' '} {run.spec.method}",
            *(readable(run.spec.hyper.get(name)) for name in hyper),
            *(readable(describe(run)[name]) for name in settings),
            str(run.spec.seed),
            "failed" if run.failed else str(metrics["best_epoch"]),
            percent(metrics["validation_accuracy"]),
            percent(metrics["test_accuracy"]),
            percent(metrics["last_test_accuracy"]),
            percent(metrics["memorised_wrong_labels"]),
            NONE if metrics["gap_auc"] is None else f"{metrics['gap_auc']:.4f}",
        ]
        if folders:
            cells.append(str(run.path))
        table.add_row(*cells, style="bold" if chosen else "")
    return table


def percent(share: float | None) -> str:
    """A share in [0, 1] for reading."""
    return NONE if share is None else f"{100 * share:.1f} %"

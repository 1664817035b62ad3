"""Runs as a table on stdout."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from noiselimit.cli.console import fits, say

if TYPE_CHECKING:
    from rich.table import Table

    from noiselimit.runs import Run

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
    from noiselimit.run_report import validation_kind
    from noiselimit.runs import choose

    star = f"★ chosen by {validation_kind(runs)} validation labels. " if any(choose(runs)) else ""
    print(f"{star}Look at {report}")


def _table(runs: Sequence["Run"], *, folders: bool) -> "Table":
    from rich.table import Table

    from noiselimit.report.wording import symbol
    from noiselimit.run_report import describe, differing_settings, readable, validation_kind
    from noiselimit.runs import choose

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

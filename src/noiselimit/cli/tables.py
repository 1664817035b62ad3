"""Tables and JSON on stdout."""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noiselimit.errors import harmless

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from noiselimit.runs.run import Run

UNLIMITED = 10_000  # columns: the terminal wraps long lines, because truncated numbers mislead
NONE = "–"


def print_json(value: Any) -> None:
    """Print JSON, with null for NaN and infinity, which JSON does not have."""
    finite = json.loads(json.dumps(value), parse_constant=lambda name: None)
    print(json.dumps(finite, indent=2))


def output_console(width: int | None = UNLIMITED) -> "Console":
    """Return a console on stdout without markup, because names may contain brackets."""
    from rich.console import Console

    plain = bool(os.environ.get("NO_COLOR"))  # rich would still make text bold or dim
    return Console(
        color_system=None if plain else "auto", width=width, highlight=False, markup=False, emoji=False
    )


def fits(thing: "RenderableType") -> bool:
    """Whether the thing is no wider than the terminal; files and pipes have no width."""
    terminal = output_console(width=None)
    return not terminal.is_terminal or output_console().measure(thing).maximum <= terminal.width


def print_all(*things: "RenderableType") -> None:
    """Print things below each other, without trailing blanks and control characters from files."""
    from rich.segment import Segment, Segments

    console = output_console()
    with console.capture() as captured:
        for thing in things:
            pieces = [
                Segment(harmless(text), style, control) for text, style, control in console.render(thing)
            ]
            console.print(Segments(pieces), end="")
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def plain_table(columns: Sequence[str], rows: Iterable[Sequence[str]] = (), left: int = 0) -> "Table":
    """Return a table without lines whose first `left` columns are aligned to the left.

    Cells may hold text from data; every row is one line.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", show_header=any(columns))
    for place, name in enumerate(columns):
        table.add_column(Text(name), justify="left" if place < left else "right")
    for cells in rows:
        spaced = [cell.replace("\u00a0", " ") for cell in cells]  # no-break spaces count as unprintable
        table.add_row(*("".join(c if c.isprintable() else "\ufffd" for c in cell) for cell in spaced))
    return table


def print_runs(runs: Sequence["Run"], *, folders: bool = True) -> None:
    """Print one line per run; a star marks those that validation chose.

    Folders are in the table if there is room, else listed below, so that they can be copied.
    """
    table = _runs_table(runs, folders=folders)
    if not folders or fits(table):
        print_all(table)
    else:
        paths = (str(run.path) for run in runs)
        print_all(_runs_table(runs, folders=False), "folders, in the same order:", *paths)


def print_choice(runs: Sequence["Run"], report: Path) -> None:
    """Print the line below the table of runs."""
    from noiselimit.report.runs import validation_kind
    from noiselimit.runs.run import choose

    star = f"★ chosen by {validation_kind(runs)} validation labels. " if any(choose(runs)) else ""
    print(f"{star}Report: {report}")


def _runs_table(runs: Sequence["Run"], *, folders: bool) -> "Table":
    from noiselimit.report.content import symbol
    from noiselimit.report.runs import readable, run_lines, validation_kind
    from noiselimit.runs.run import choose

    lines = run_lines(runs, choose(runs))
    hyper = list(dict.fromkeys(name for run in runs for name in run.spec.hyper))
    names = [symbol(name) for name in hyper] + [name.replace("_", "\n") for name in lines[0].settings]
    accuracies = (f"{validation_kind(runs)}\nvalid.", "test at\nbest", "test at\nlast")
    others = ("wrong\nlabels\nmemorised", "gap\nROC\nAUC")  # narrow, for 80 columns
    table = plain_table(["  method", *names, "seed", "best\nepoch", *accuracies, *others], left=1)
    if folders:
        table.add_column("folder")
    for line in lines:
        run, metrics = line.run, line.run.metrics
        cells = [
            f"{'★' if line.chosen else ' '} {run.spec.method}",
            *(readable(run.spec.hyper.get(name)) for name in hyper),
            *line.settings.values(),
            str(run.spec.seed),
            "failed" if run.failed else str(metrics["best_epoch"]),
            percent(metrics["validation_accuracy"]),
            percent(metrics["test_accuracy"]),
            percent(metrics["last_test_accuracy"]),
            percent(metrics["memorised_wrong_labels"]),
            NONE if metrics["gap_auc"] is None else f"{metrics['gap_auc']:.4f}",
        ]
        table.add_row(*cells, *([str(run.path)] if folders else []), style="bold" if line.chosen else "")
    return table


def percent(share: float | None) -> str:
    """A share in [0, 1] in percent."""
    return NONE if share is None else f"{100 * share:.1f} %"

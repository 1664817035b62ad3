"""`python -m paper`: train what the paper's tables and figures lack, then print or draw them."""

import json
import math
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import pandas as pd
import typer

from noiselimit.cli.options import (
    Cluster,
    Compute,
    Json,
    Quiet,
    Source,
    field_options,
    path_option,
    with_options,
)
from noiselimit.data.catalogue import load_data
from noiselimit.errors import InputError, unknown
from noiselimit.fields import option
from noiselimit.files import make_folder
from paper import tables
from paper.execute import Runner, make_batches, missing_tasks
from paper.figures import FIGURES, draw, read_kept
from paper.protocol import Cell, Protocol, Task, protocol_for
from paper.rows import read_rows, rows_path
from paper.tables import TABLES

INTERRUPTED = 130

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Reproduce the paper's tables and figures: train their runs, then print or draw them.",
)


@dataclass(frozen=True)
class Place:
    """Where results are, and how large the runs are."""

    out: Path | None = option(
        None,
        "Folder of results.",
        metavar="FOLDER",
        shown="results/reproduce; runs/reproduce-quick with --quick",
    )
    quick: bool = option(False, "Use little data and few epochs; takes minutes on a CPU.")

    @property
    def folder(self) -> Path:
        """The folder of results."""
        return self.out or Path("runs/reproduce-quick" if self.quick else "results/reproduce")


@dataclass(frozen=True)
class Choice:
    """Which runs of a table to train; a figure has no choice."""

    protocol: str | None = option(
        None, "full: the paper's; short: 40 epochs and few values; short-sgd: with SGD.", shown="full"
    )
    seeds: str | None = option(None, "Seeds of the runs.", metavar="N,...", shown="as many as in the paper")
    methods: str | None = option(None, "Train only these methods.", metavar="NAME,...")
    cells: str | None = option(
        None, "Train only these cells, such as uniform:0.8/10000, pair:0.4 or uniform.", metavar="CELL,..."
    )
    values: str | None = option(
        None, "Train only these hyper-parameters, such as beta=10,beta=30.", metavar="VALUE,..."
    )


@dataclass(frozen=True)
class Limits:
    """How long to train."""

    epochs: int | None = option(
        None, "Train fewer epochs than the paper, for a first look.", metavar="N", min=1
    )
    budget_minutes: float | None = option(
        None, "Stop training after this time; 0 only prints and draws.", metavar="MINUTES", min=0
    )


@app.command("list")
@with_options(chosen=field_options(Choice, "seeds"))
def list_(*, place: Place, chosen: Choice, as_json: Json = False) -> None:
    """Print the tables and figures, and how many of their runs are done."""
    states = []
    for name in (*TABLES, *FIGURES):
        plan = make_plan(name, place, Choice() if name in FIGURES else chosen)
        states.append(
            {
                "name": name,
                "kind": "table" if name in TABLES else "figure",
                "title": tables.TITLES[name] if name in TABLES else FIGURES[name].title,
                "runs": len(plan.tasks),
                "done": len(plan.tasks) - len(plan.missing),
            }
        )
    if as_json:
        print(json.dumps(states, indent=2))
    else:
        print(pd.DataFrame(states)[["name", "runs", "done", "title"]].to_string(index=False))


@app.command()
@with_options(compute=field_options(Compute, "device", "threads"))
def run(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A table or figure; 'list' prints their names.")
    ],
    *,
    choice: Choice,
    limits: Limits,
    source: Source,
    compute: Compute,
    cluster: Cluster,
    place: Place,
    runs: Annotated[Path, path_option("FOLDER", "Folder of the runs while they train.")] = Path(
        "runs/reproduce"
    ),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train the missing runs of a table or figure, then print or draw it.

    If it is interrupted, the same command resumes.
    """
    started, out, quick = time.monotonic(), place.folder, place.quick
    plan, engine = make_plan(name, place, choice, limits.epochs), cluster.make_engine()
    minutes = limits.budget_minutes
    trained = failed = 0
    if plan.protocol is not None and plan.missing and minutes != 0:
        runner = Runner(
            plan.protocol,
            load_data(plan.protocol.source, source.data_dir, source.download and not quick),
            make_folder(out),
            runs / f"{plan.protocol.data}{'-quick' if quick else ''}",
            device=compute.device,
            threads=compute.threads,
            deadline=math.inf if minutes is None else started + 60 * minutes,
            quiet=quiet,
            engine=engine,
        )
        try:
            # A cluster gets all runs at once.
            runner.run([plan.missing] if engine else make_batches(plan.missing, plan.protocol))
        except KeyboardInterrupt:
            print("paper: interrupted; finished runs are kept, the same command resumes", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
        trained, failed = runner.trained, runner.failed
    drawn = [str(path) for path in draw(FIGURES[name], out, quick=quick)] if name in FIGURES else []
    counts = {"runs_trained": trained, "runs_failed": failed, "runs_left": len(plan.missing) - trained}
    cells_found: list[dict[str, Any]] = []
    if plan.cells and plan.protocol is not None:
        rows = read_rows(rows_path(out, plan.protocol.file))
        found = (tables.cell_result(cell, rows, plan.protocol) for cell in plan.cells)
        cells_found = [result for result in found if result is not None]
    _print_results({"name": name, **counts, "drawn": drawn, "cells": cells_found}, as_json)
    raise typer.Exit(1 if failed else 0)


@dataclass(frozen=True)
class Plan:
    """The options of a call."""

    protocol: Protocol | None
    """None if nothing is trained."""
    cells: list[Cell]
    """Of the table; a figure has none."""
    tasks: list[Task]
    missing: list[Task]
    """The tasks that are not done yet."""


def make_plan(name: str, place: Place, choice: Choice, epochs: int | None = None) -> Plan:
    """Check the options and find what is to be trained."""
    some = {each: text.split(",") for each, text in vars(choice).items() if text is not None}
    out, quick = place.folder, place.quick
    if name in FIGURES:
        for each in some:
            raise InputError(f"{each} is given, but '{name}' is a figure: leave it out.")
        figure = FIGURES[name]
        if not figure.cells:
            return Plan(None, [], [], [])
        protocol = figure.protocol(quick=quick, epochs=epochs)
        tasks = figure.tasks(protocol)
        rows = figure.select(read_kept(out, figure.kind), quick=quick)
        return Plan(protocol, [], tasks, missing_tasks(tasks, rows))
    if name not in TABLES:
        raise unknown("table or figure", name, [*TABLES, *FIGURES])
    protocol = protocol_for(name, choice.protocol or "full", quick=quick, epochs=epochs)
    seeds = some.get("seeds", [str(seed) for seed in range(protocol.seeds)])
    if not all(seed.isdecimal() for seed in seeds):
        raise InputError(f"seeds is '{choice.seeds}': give whole numbers ≥ 0, separated by commas.")
    cells = tables.choose_cells(name, some.get("methods"), some.get("cells"))
    tasks = tables.table_tasks(cells, [int(seed) for seed in seeds], protocol)
    if "values" in some:
        tasks = tables.with_values(tasks, some["values"])
    return Plan(protocol, cells, tasks, missing_tasks(tasks, read_rows(rows_path(out, protocol.file))))


def _print_results(summary: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(summary, indent=2))
        return
    if summary["cells"]:
        print(pd.DataFrame([_line(result) for result in summary["cells"]]).to_string(index=False))
    if summary["drawn"]:
        print(f"drawn: {', '.join(summary['drawn'])}")
    counts = f"{summary['runs_trained']} runs trained ({summary['runs_failed']} failed)"
    print(f"{summary['name']}: {counts}, {summary['runs_left']} left.")


def _line(result: dict[str, Any]) -> dict[str, str]:
    """A cell's result for reading."""
    difference, area = result["difference"], result["gap_auc"]
    some = f" ({result['values_compared']} of {result['values']})"
    return {
        "problem": result["problem"],
        "method": result["method"],
        "chosen": result["hyper"] + (some if result["values_compared"] < result["values"] else ""),
        "seeds": str(len(result["seeds"])),
        "epochs": f"{max(result['epochs_run'])} of {result['epochs']}",
        "test, %": f"{result['accuracy']:.1f} ± {result['std']:.1f}",
        "paper, %": f"{result['paper']:.1f} ± {result['paper_std']:.1f}",
        "difference": "–" if difference is None else f"{difference:+.1f}",
        "agrees": {None: "–", True: "yes", False: "no"}[result["meets"]],
        "gap AUC": "–" if area is None else f"{area:.4f}",
    }


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command line; bad input is one sentence and exit code 2."""
    try:
        app(args=arguments, prog_name="python -m paper")
    except InputError as error:
        print(f"paper: {error}", file=sys.stderr)
        sys.exit(2)
    sys.exit(0)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupt)
    warnings.formatwarning = lambda message, *_, **__: f"paper: {message}\n"
    main()

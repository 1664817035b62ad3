"""What `noiselimit reproduce NAME` does and prints."""

import json
from typing import Any

from noiselimit.cli.bench_news import bench_news
from noiselimit.cli.news import download_news
from noiselimit.cli.reproduce_plan import plain_plan, plan_lines
from noiselimit.cli.reproduce_tables import print_cells
from noiselimit.reproduce.budget import WORTH_BEGINNING
from noiselimit.reproduce.call import Plan, make_plan
from noiselimit.reproduce.carrying_out import carry_out
from noiselimit.reproduce.cell_result import CellResult, Runs
from noiselimit.reproduce.cells import cell_result, cell_rows, failed_runs
from noiselimit.reproduce.figures.drawing import draw_figure
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.rows_file import read_rows, rows_path
from noiselimit.reproduce.run import Ended
from noiselimit.reproduce.studies import Cell
from noiselimit.reproduce.wanted import Wanted


def answer(wanted: Wanted, *, plan: bool, as_json: bool, quiet: bool) -> int:
    """The exit code: 1 where a run failed."""
    planned = make_plan(wanted)
    if plan:
        minutes = wanted.budget_minutes
        whole = {"name": wanted.name, **plain_plan(planned, minutes)}
        print(json.dumps(whole, indent=2) if as_json else "\n".join(plan_lines(planned, minutes)))
        return 0
    with bench_news(quiet, "reproduce") as tell:
        ended = carry_out(planned, wanted, tell, download_news(quiet))
    figure = FIGURES.get(wanted.name)
    drawn = (
        [] if figure is None else [str(path) for path in draw_figure(figure, wanted.out, quick=wanted.quick)]
    )
    results, failed = _results(planned, wanted)
    if as_json:
        print(json.dumps(_plain(wanted, ended, results, failed, drawn), indent=2))
        return 1 if ended.failed else 0
    if results or failed:
        print_cells(results, failed, quick=wanted.quick)
        if wanted.quick:
            print("A quick trial on other data: the paper's figures are beside it, not to compare with.")
    if drawn:
        print(f"drawn: {', '.join(drawn)}")
    of_them = f", {ended.failed} of them failed" if ended.failed else ""
    runs = "run" if ended.rows == 1 else "runs"
    print(f"{wanted.name}: {ended.rows} {runs} trained{of_them}, {ended.left} left.")
    minutes = wanted.budget_minutes
    if ended.left and minutes != 0:  # who gives none asks for no training
        is_short = minutes is not None and 60 * minutes <= WORTH_BEGINNING
        no_time = "There was no time to train: give more than half a minute, or no --budget-minutes."
        print(no_time if is_short else "The same command goes on.")
    return 1 if ended.failed else 0


def _results(plan: Plan, wanted: Wanted) -> tuple[list[CellResult], dict[Cell, Runs]]:
    """What was measured, and cells of which runs failed and none came to a result."""
    if plan.protocol is None or not plan.cells:
        return [], {}
    rows = read_rows(rows_path(wanted.out, plan.protocol.data))
    found = {cell: cell_result(cell, rows, plan.protocol) for cell in plan.cells}
    without = [cell for cell, result in found.items() if result is None]
    failed = {cell: failed_runs(cell_rows(cell, rows, plan.protocol)) for cell in without}
    return [one for one in found.values() if one is not None], {cell: r for cell, r in failed.items() if r}


def _plain(
    wanted: Wanted, ended: Ended, results: list[CellResult], failed: dict[Cell, Runs], drawn: list[str]
) -> dict[str, Any]:
    return {
        "name": wanted.name,
        "runs_trained": ended.rows,
        "runs_failed": ended.failed,
        "runs_left": ended.left,
        "drawn": drawn,
        "failed_cells": [
            {"problem": cell.problem, "method": cell.method, "failed_runs": runs}
            for cell, runs in failed.items()
        ],
        "cells": [
            {
                "problem": result.cell.problem,
                "method": result.cell.method,
                "hyper": result.hyper,
                "seeds": list(result.seeds),
                "accuracy": result.accuracy,
                "std": result.std,
                "std_by": result.std_by,
                "gap_auc": result.gap_auc,
                "epochs": min(result.epochs_allowed),
                "epochs_allowed": list(result.epochs_allowed),
                "epochs_run": list(result.epochs_run),
                "protocol_epochs": result.protocol_epochs,
                "values_run": result.values_run,
                "values_compared": result.values_compared,
                "values": result.values,
                "failed_runs": result.failed,
                "paper": None if result.paper is None else result.paper.accuracy,
                "paper_std": None if result.paper is None else result.paper.std,
                # A quick trial is on other data, so that it neither meets the paper's nor differs from it.
                "difference": None if wanted.quick else result.difference,
                # Nor does one that fewer epochs than the paper's ended: CE, for one, is better after two.
                "meets": None if wanted.quick or result.is_cut else result.meets,
            }
            for result in results
        ],
    }

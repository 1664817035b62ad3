"""What is left to run and how long everything took, in docs/results.md."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from noiselimit.bench.rows import FIGURES
from noiselimit.methods import get_method
from noiselimit.reproduce.cohorts import ALONE
from noiselimit.reproduce.paper import LABELS
from noiselimit.reproduce.protocol import protocol_for
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.speed import Speed
from noiselimit.reproduce.studies import STUDIES, Cell
from pages.results.numbers import NAMES, Measured, hours_text, left_to_run
from pages.results.places import places_text

AUTHORS = {"mnist": ("mnist-one", 48_000), "cifar10": ("cifar-limit", 40_000)}
"""Data set → the row of the benchmark that has the author's seconds per epoch of LIMIT, and its n."""


@dataclass(frozen=True)
class Empty:
    """A problem with cells that have no result and could have one."""

    data: str
    problem: str
    cells: Sequence[Cell]
    runs: int
    hours: float | None


def empty_cells(measured: Measured) -> Iterator[Empty]:
    """What is missing, problem by problem, and what it takes."""
    for data, study in STUDIES.items():
        empty: dict[str, list[Cell]] = {}
        for cell in study.cells:
            if measured.is_left(cell) and not (cell.noise == "pair" and cell.p == 0):
                empty.setdefault(cell.problem, []).append(cell)  # without noise, uniform:0 has the same runs
        for problem, cells in empty.items():
            yield Empty(data, problem, cells, *left_to_run(cells, measured))


def left(measured: Measured, empty: Sequence[Empty]) -> str:
    """Problems with empty cells, and the time that these need."""
    lines = [
        "| data | problem | cells without a run | runs | on an H200 |",
        "| --- | --- | --- | ---: | ---: |",
    ]
    for one in empty:
        whole = {cell.method for cell in one.cells} == set(STUDIES[one.data].methods)
        named = "all" if whole else ", ".join(LABELS[cell.method] for cell in one.cells)
        lines.append(
            f"| {NAMES[one.data]} | {one.problem} | {named} | {one.runs:,} | {hours_text(one.hours)} |"
        )
    parts = ["Every cell was run." if len(lines) == 2 else "\n".join(lines), *_begun(measured)]
    if len(lines) > 2 or len(parts) > 1:
        parts.append(f"{_estimate(measured.speed)} The runs are the paper's grids and seeds.")
    return "\n\n".join(parts)


def _begun(measured: Measured) -> list[str]:
    """Cells that have a result, though of fewer seeds or values than the paper's."""
    lines = [
        "| data | cells with fewer seeds or values than the paper's | runs left | on an H200 |",
        "| --- | --- | ---: | ---: |",
    ]
    by_method: dict[tuple[str, str], list[Cell]] = {}
    for cell in measured.results:
        if not (cell.noise == "pair" and cell.p == 0):  # without noise, uniform:0 has the same runs
            by_method.setdefault((cell.data, cell.method), []).append(cell)
    for (data, _), cells in by_method.items():
        begun = [cell for cell in cells if left_to_run([cell], measured)[0]]
        if begun:
            runs, hours = left_to_run(begun, measured)
            places = places_text(dict.fromkeys(begun, ""))
            lines.append(f"| {NAMES[data]} | {places} | {runs:,} | {hours_text(hours)} |")
    return ["\n".join(lines)] if len(lines) > 2 else []


def _estimate(speed: Speed | None) -> str:
    if speed is None:
        return "Hours are unknown without results/bench-h200.json."
    return (
        "Hours are estimated from the benchmark (results/bench-h200.json), each row by itself, by the epochs "
        "that similar runs took, or 60 % of those allowed. For Clothing1M they are scaled from a smaller "
        "network by operations, and reading its pictures is not counted."
    )


def spent(measured: Measured) -> str:
    """Device time of all runs, and of LIMIT against the author's code."""
    rows = [(row, "") for of_data in measured.rows.values() for row in of_data]
    rows += [(row, ", figures alone") for row in measured.figure_rows]
    if not rows:
        return "No run yet."
    lines = [
        "| data | device | runs | epochs of a run, together | time |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    groups: dict[tuple[str, str], list[ResultRow]] = {}
    for row, what in rows:
        groups.setdefault((NAMES[row.data] + what, row.device), []).append(row)
    for (name, device), own in groups.items():
        hours = sum(row.seconds for row in own) / 3600
        epochs = sum(row.epochs_run for row in own)
        lines.append(f"| {name} | {device} | {len(own):,} | {epochs:,} | {hours_text(hours)} |")
    lines += _of_causes(measured.causes)
    compared = [sentence for data in AUTHORS for sentence in _against_author(data, measured)]
    return "\n".join([*lines, "", *(compared or ["No run of LIMIT of the author's size on an H200 yet."])])


def _of_causes(causes: Mapping[str, Any]) -> list[str]:
    """What was trained to find causes, by device; parts whose seconds were not kept have their own line."""
    groups: dict[tuple[str, bool], list[Mapping[str, Any]]] = {}
    for part in causes.values():
        if "runs" in part:
            groups.setdefault((part["hardware"], "seconds" in part), []).append(part)
    lines = []
    for (device, timed), parts in groups.items():
        runs = [run for part in parts for run in part["runs"]]
        spent = "not kept | not kept"
        if timed:
            epochs = sum(run["epochs_run"] for run in runs)
            spent = f"{epochs:,} | {hours_text(sum(part['seconds'] for part in parts) / 3600)}"
        lines.append(f"| MNIST, causes | {device} | {len(runs):,} | {spent} |")
    return lines


def author_ratio(data: str, measured: Measured) -> float | None:
    """How many times as long the author's code takes for the runs that it was timed on."""
    timed = _timed(data, measured.rows[data])
    return None if timed is None else timed.theirs * timed.epochs / timed.seconds


@dataclass(frozen=True)
class Timed:
    """Runs of the size and kind that the author's code was timed on."""

    runs: int
    epochs: int
    seconds: float
    theirs: float
    """The author's seconds per epoch."""
    alone: bool
    """Not in cohorts."""


def _timed(data: str, rows: Sequence[ResultRow]) -> Timed | None:
    """None where there are no such runs.

    Runs of a cohort have equal shares of its seconds, though those without a predictor have one network of
    two. So all time spent on this size is divided by networks here, unless each run trained alone.
    """
    name, size = AUTHORS[data]
    theirs = FIGURES[name].author
    beside = [row for row in rows if row.n == size and "H200" in row.device]
    pairs = [row for row in beside if get_method(row.method).needs_predictor and row.epochs_run]
    if not pairs or theirs is None:
        return None
    epochs = sum(row.epochs_run for row in pairs)
    alone = protocol_for(data).network in ALONE
    if alone:
        seconds = sum(row.seconds for row in pairs)
    else:
        networks = epochs + sum(row.epochs_run for row in beside)
        seconds = sum(row.seconds for row in beside) * 2 * epochs / networks
    return Timed(len(pairs), epochs, max(seconds, 1e-9), theirs, alone=alone)


def _against_author(data: str, measured: Measured) -> list[str]:
    timed = _timed(data, measured.rows[data])
    if timed is None:
        return []
    epochs, seconds = timed.epochs, timed.seconds
    return [
        f"- {NAMES[data]}, runs with a predictor on {AUTHORS[data][1]:,} examples: {timed.runs} runs of "
        f"{epochs:,} epochs in {hours_text(seconds / 3600)}, {seconds / epochs:.3g} s per epoch of a run "
        f"{'alone' if timed.alone else 'in a cohort'}, set-up and evaluation included"
        f"{'' if timed.alone else ', time divided by networks'}. At the author's "
        f"{timed.theirs:g} s they would take {hours_text(epochs * timed.theirs / 3600)}, "
        f"{author_ratio(data, measured):.0f} × as long."
    ]

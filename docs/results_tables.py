"""The tables of docs/results.md, one column for each problem."""

from collections.abc import Sequence

from results_notes import notes
from results_numbers import NAMES, Measured, hours_text, signed
from results_screens import screens
from results_time import AUTHORS, author_ratio

from noiselimit.reproduce.paper import LABELS, paper_figure
from noiselimit.reproduce.studies import STUDIES, Cell

Problem = tuple[str, str, float | None, int | None]
"""Data set, noise, p, n."""
HEAD: dict[Problem, str] = {
    ("mnist", "uniform", 0.5, 48_000): "MNIST, 50 %",
    ("mnist", "uniform", 0.8, 48_000): "MNIST, 80 %",
    ("cifar10", "uniform", 0.4, 40_000): "CIFAR-10, 40 %",
    ("cifar10", "pair", 0.4, 40_000): "CIFAR-10, 40 % pairs",
    ("cifar100", "uniform", 0.4, 40_000): "CIFAR-100, 40 %",
}
HEAD_METHODS = ("ce", "mae", "fw", "dmi", "limit-g", "limit-l", "limit-g+init", "limit-l+init")
KEY = (
    "Measured test accuracy in % ± standard deviation (seeds), in bold the best of those run in a column, "
    "however little it is ahead; below it the paper's and the difference. A dot: not run yet; failed: no run "
    "of it came to a result. †: of one seed, by bootstrap of the test examples alone."
)
NOTHING, FAILED = "·", "failed"


def head_table(measured: Measured) -> str:
    """The one table: what is known best, with the share of wrong labels."""
    lines = _table(list(HEAD), list(HEAD.values()), HEAD_METHODS, measured)
    columns = "Columns: data and share of wrong labels; pairs: of the labels of four classes among the ten."
    return "\n".join([*lines, "", f"{KEY} {columns} {_so_far(measured)}"])


def _so_far(measured: Measured) -> str:
    """How much was run, and how long it took."""
    runs = sum(map(len, measured.rows.values()))
    if not runs:
        return "No run yet."
    cells = sum(len(study.cells) for study in STUDIES.values())
    seconds = sum(row.seconds for rows in measured.rows.values() for row in rows)
    ratios = " and ".join(
        f"{ratio:.0f} × ({NAMES[data]})" for data in AUTHORS if (ratio := author_ratio(data, measured))
    )
    slower = (
        f" For runs of LIMIT the author's code, timed one run at a time, takes {ratios} as long"
        if ratios
        else ""
    )
    return (
        f"So far {runs:,} runs in {hours_text(seconds / 3600)}, figures and causes aside, fill "
        f"{len(measured.results)} of the paper's {cells} cells.{slower} ([details](#how-long-it-took))."
    )


def study_tables(data: str, measured: Measured) -> str:
    """All cells of the paper's tables on one data set, and what validation chose."""
    cells = STUDIES[data].cells
    parts: list[str] = []
    for heading, problems in _groups(cells).items():
        titles = [_column(problem, heading) for problem in problems]
        methods = [method for method in LABELS if method in STUDIES[data].methods]
        parts += [f"**{heading}**", "", *_table(problems, titles, methods, measured), ""]
    results = [result for cell, result in measured.results.items() if cell.data == data]
    failed = {cell: runs for cell, runs in measured.failed.items() if cell.data == data}
    parts.append(notes(results, failed))
    return "\n\n".join(["\n".join(parts), *screens(results, measured)])


def _groups(cells: Sequence[Cell]) -> dict[str, list[Problem]]:
    """Heading → the problems beside each other: all n of one p, else all p of one noise."""
    found: dict[str, dict[Problem, None]] = {}
    several = len({cell.n for cell in cells}) > 1
    for cell in cells:
        if cell.p is None:
            heading = "Labels as they are"
        elif several:
            heading = f"{cell.noise} noise, p = {cell.p:g}".capitalize()
        else:
            heading = f"{cell.noise} noise".capitalize()
        found.setdefault(heading, {})[(cell.data, cell.noise, cell.p, cell.n)] = None
    return {heading: list(problems) for heading, problems in found.items()}


def _column(problem: Problem, heading: str) -> str:
    _, _, p, n = problem
    if p is None:
        return "test accuracy"
    return f"n = {n:,}" if "p =" in heading else f"p = {p:g}"


def _table(
    problems: Sequence[Problem], titles: Sequence[str], methods: Sequence[str], measured: Measured
) -> list[str]:
    best = {
        problem: max(
            (result.accuracy for result in measured.of(*problem) if result.cell.method in methods),
            default=None,
        )
        for problem in problems
    }
    lines = ["| method | " + " | ".join(titles) + " |", "| --- |" + " ---: |" * len(titles)]
    for method in methods:
        cells = []
        for problem in problems:
            cells.append(_cell(Cell(*problem, method), measured, best[problem]))
        lines.append(f"| {LABELS[method]} | " + " | ".join(cells) + " |")
    return lines


def _cell(cell: Cell, measured: Measured, best: float | None) -> str:
    result = measured.results.get(cell)
    paper = paper_figure(cell.data, cell.noise, cell.p, cell.n, cell.method)
    printed = "" if paper is None else paper.text
    if result is None:
        return f"{FAILED if cell in measured.failed else NOTHING}<br>{printed}" if printed else ""
    own = f"{result.accuracy:.1f} ± {result.std:.1f}{'†' if result.std_by == 'bootstrap' else ''}"
    is_best = best is not None and f"{result.accuracy:.1f}" == f"{best:.1f}"
    own = f"**{own}**" if is_best else own
    below = "" if result.shown_difference is None else f"{printed}, {signed(result.shown_difference)}"
    return f"{own} ({len(result.seeds)})<br>{below}"

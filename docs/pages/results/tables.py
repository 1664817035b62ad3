"""The tables of docs/results.md, one column for each problem."""

from collections.abc import Sequence

from noiselimit.reproduce.paper import LABELS, paper_figure
from noiselimit.reproduce.studies import STUDIES, Cell
from pages.results.notes import notes
from pages.results.numbers import Measured, signed
from pages.results.repeats import apart_text, chosen_otherwise

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
    "of it came to a result; empty: not in the paper. †: of one seed, by bootstrap of the test examples "
    "alone, which knows nothing of how far another run is from it."
)
COLUMNS = (
    "Columns: data and share of wrong labels; pairs: of the labels of four classes among the ten. MNIST with "
    "48,000 training examples."
)
REPEATED = (
    " ‡: trained again, and by the run before validation would have chosen otherwise "
    "([see](#against-the-papers-claims))."
)
NOTHING, FAILED = "·", "failed"


def head_table(measured: Measured) -> str:
    """The one table: what is known best, with the share of wrong labels."""
    lines = _table(list(HEAD), list(HEAD.values()), HEAD_METHODS, measured)
    repeated = REPEATED if any("‡" in line for line in lines) else ""
    return "\n".join([*lines, "", f"{KEY}{repeated} {COLUMNS}"])


def study_tables(data: str, measured: Measured) -> str:
    """All cells of the paper's tables on one data set, and what differs from its protocol."""
    cells = STUDIES[data].cells
    parts: list[str] = []
    for heading, problems in _groups(cells).items():
        titles = [_column(problem, heading) for problem in problems]
        methods = [method for method in LABELS if method in STUDIES[data].methods]
        parts += [f"**{heading}**", "", *_table(problems, titles, methods, measured), ""]
    results = [result for cell, result in measured.results.items() if cell.data == data]
    failed = {cell: runs for cell, runs in measured.failed.items() if cell.data == data}
    repeated = REPEATED if any("‡" in line for line in parts) else ""
    said = f"{notes(results, failed)}{repeated} {apart_text(results, measured)}".rstrip()
    return "\n".join([*parts, said])


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
    marks = "†" if result.std_by == "bootstrap" else ""
    marks += "‡" if chosen_otherwise(result, measured) else ""
    own = f"{result.accuracy:.1f} ± {result.std:.1f}{marks}"
    is_best = best is not None and f"{result.accuracy:.1f}" == f"{best:.1f}"
    own = f"**{own}**" if is_best else own
    below = "" if result.shown_difference is None else f"{printed}, {signed(result.shown_difference)}"
    return f"{own} ({len(result.seeds)})<br>{below}"

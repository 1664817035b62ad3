"""How what was measured stands against the paper's claims, in docs/results.md."""

from collections.abc import Sequence
from dataclasses import dataclass

from results_below import above_text, explained, listed, others
from results_choice import close_call, how_sure
from results_late import late_text
from results_numbers import NAMES, Measured, value_text

from noiselimit.reproduce.cell_result import CellResult, tolerated
from noiselimit.reproduce.cells import cell_result, cell_rows
from noiselimit.reproduce.comparison import compare
from noiselimit.reproduce.paper import LABELS
from noiselimit.reproduce.studies import STUDIES, Cell

MOST_BELOW = 2
"""Of MNIST's 48 cells of LIMIT: so many we allow to chance."""
NOT_REACHED = "**not reached**"
NARROW = " The value of β was a close call, as its table says [below](#cifar-10)."
LIMITS = ("limit-g", "limit-l", "limit-g+s", "limit-l+s", "limit-g+init", "limit-l+init")


@dataclass(frozen=True)
class Detection:
    """How well the gap finds the wrong labels of one problem."""

    data: str
    noise: str
    p: float
    n: int
    paper: str
    """ROC AUC, as the paper says it."""
    wanted: float | None
    """None where nothing was asked for."""

    @property
    def least(self) -> float:
        """What agrees with the paper's."""
        return float(self.paper.removeprefix("> "))


DETECTIONS = (
    Detection("mnist", "uniform", 0.8, 48_000, ".9987", 0.998),
    Detection("cifar10", "uniform", 0.4, 40_000, "> .99", 0.985),
    Detection("cifar10", "pair", 0.4, 40_000, ".911", 0.911),
    Detection("cifar100", "uniform", 0.4, 40_000, "> .99", None),
)
AT_LEAST = {
    Cell("cifar10", "uniform", 0.4, 40_000, "limit-g+init"): 90.0,
    Cell("cifar10", "pair", 0.4, 40_000, "limit-l+init"): 89.5,
}


def agreement(measured: Measured) -> str:
    """Whether LIMIT reaches the paper's figures."""
    cells = [cell for cell in STUDIES["mnist"].cells if cell.method in LIMITS]
    run = [measured.results[cell] for cell in cells if cell in measured.results]
    below = [result for result in run if not result.meets]
    rest = [
        result
        for cell, result in measured.results.items()
        if cell.data == "mnist" and cell.method not in LIMITS
    ]
    parts = [_of_mnist(len(cells), run, below), *_with_equal_seeds(run, measured)]
    parts += [others(rest)] if rest else []
    parts += filter(None, [how_sure([*run, *rest], measured)])
    for cell, wanted in AT_LEAST.items():
        name = (
            f"{LABELS[cell.method]} on {NAMES[cell.data]} with {100 * (cell.p or 0):.0f} % {cell.noise} noise"
        )
        result = measured.results.get(cell)
        parts.append(
            f"- {name}: {measured.why_none(cell)}; wanted {wanted:.1f} %."
            if result is None
            else f"- {name}: {result.accuracy:.1f} %, wanted {wanted:.1f} %"
            f"{'' if result.accuracy >= wanted else f': {NOT_REACHED}'}."
            f"{late_text(result, measured)}{NARROW if close_call(result, measured) else ''}"
        )
    return "\n\n".join(["\n".join(parts), *(explained(result, measured) for result in below)])


def _of_mnist(count: int, run: list[CellResult], below: list[CellResult]) -> str:
    if not run:
        return f"- MNIST: none of the {count} cells of LIMIT was run yet."
    run_of = "" if len(run) == count else f" that were run, of {count},"
    return (
        f"- MNIST: {len(run) - len(below)} of the {len(run)} cells of LIMIT{run_of} are "
        "at or above the paper's value − 2·√(s²/5 + s²/m) − 0.1, where s is the paper's standard deviation "
        f"and m the number of our seeds: {tolerated(1):.1f} s + 0.1 below the paper's with one seed, "
        f"{tolerated(3):.1f} s + 0.1 with three.{f' Below: {listed(below)}.' if below else ''}"
        f"{_verdict(below)}{above_text(run)}"
    )


def _verdict(below: Sequence[CellResult]) -> str:
    return "" if len(below) <= MOST_BELOW else f" **More than the {MOST_BELOW} that we allow to chance.**"


def _with_equal_seeds(run: Sequence[CellResult], measured: Measured) -> list[str]:
    """The same by seeds that all cells of a method have: what got more by its result is no fair sample."""
    by_method: dict[str, list[CellResult]] = {}
    for result in run:
        by_method.setdefault(result.cell.method, []).append(result)
    shared = {
        method: set[int].intersection(*(set(result.seeds) for result in own))
        for method, own in by_method.items()
    }
    if all(set(result.seeds) == shared[result.cell.method] for result in run):
        return []
    again = [
        cell_result(
            result.cell, [row for row in measured.rows["mnist"] if row.seed in shared[result.cell.method]]
        )
        for result in run
    ]
    below = [result for result in again if result is not None and not result.meets]
    seeds = "; ".join(
        f"{LABELS[method]} {', '.join(map(str, sorted(own)))}" for method, own in shared.items()
    )
    return [
        f"- By the seeds alone that all cells of a method have ({seeds}), {len(run) - len(below)} are"
        f"{f'; below: {listed(below)}.' if below else '.'}{_verdict(below)}"
    ]


def detection(measured: Measured) -> str:
    """ROC AUC of the gap, of the LIMIT that validation prefers on each problem.

    Where that has fewer seeds than others, also of what it prefers among those that have the most.
    """
    lines = [
        "| data | noise | method | ROC AUC of the gap | the paper's | wanted |",
        "| --- | --- | --- | ---: | ---: | ---: |",
    ]
    for one in DETECTIONS:
        found = [
            result
            for result in measured.of(one.data, one.noise, one.p, one.n)
            if result.cell.method in LIMITS and result.gap_auc is not None
        ]
        noise = f"{one.noise}, {100 * one.p:.0f} %"
        rest = f"{one.paper} | {'' if one.wanted is None else f'≥ {one.wanted:g}'} |"
        if not found:
            lines.append(f"| {NAMES[one.data]} | {noise} | – | not run yet | {rest}")
            continue
        most = max(len(result.seeds) for result in found)
        surest = preferred([result for result in found if len(result.seeds) == most], measured)
        for best in dict.fromkeys([preferred(found, measured), surest]):
            method = f"{LABELS[best.cell.method]}, {value_text(best.hyper)}"
            lines.append(f"| {NAMES[one.data]} | {noise} | {method} | {_area(best, one)} | {rest}")
    return "\n".join(lines)


def _area(result: CellResult, one: Detection) -> str:
    """'0.9890 (1), below the paper's'."""
    assert result.gap_auc is not None
    said = f"{result.gap_auc:.4f} ({len(result.seeds)})"
    if one.wanted is not None and result.gap_auc < one.wanted:
        return f"{said}, {NOT_REACHED}"
    return said if result.gap_auc >= one.least else f"{said}, below the paper's"


def preferred(found: Sequence[CellResult], measured: Measured) -> CellResult:
    """What noisy validation prefers, over seeds that the compared methods have in common."""
    by_method = {
        result.cell.method: cell_rows(result.cell, measured.rows[result.cell.data])[result.hyper]
        for result in found
    }
    ranked = compare(by_method)
    assert ranked is not None
    return next(result for result in found if result.cell.method == ranked.ranked[0])


def chosen_values(measured: Measured) -> str:
    """What noisy validation chose, for every method that searches something."""
    problems = list(dict.fromkeys((cell.data, cell.problem) for cell in measured.results))
    methods = [m for m in LABELS if any(c.method == m and r.hyper for c, r in measured.results.items())]
    if not methods:
        return "No run yet."
    lines = [
        "| data | problem | " + " | ".join(LABELS[method] for method in methods) + " |",
        "| --- | --- |" + " --- |" * len(methods),
    ]
    for data, problem in problems:
        by_method = {
            cell.method: result
            for cell, result in measured.results.items()
            if (cell.data, cell.problem) == (data, problem)
        }
        cells = [value_text(by_method[m].hyper) if m in by_method else "" for m in methods]
        if any(cells):
            lines.append(f"| {NAMES[data]} | {problem} | " + " | ".join(cells) + " |")
    return "\n".join(lines)

"""How what was measured stands against the paper's claims, in docs/results.md."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from noiselimit.reproduce.cell_result import CellResult, tolerated
from noiselimit.reproduce.cells import cell_result
from noiselimit.reproduce.paper import LABELS
from noiselimit.reproduce.studies import STUDIES, Cell
from pages.results.below import listed
from pages.results.choice import close_call
from pages.results.late import late_text
from pages.results.numbers import DETAILS, LIMITS, NAMES, NOT_REACHED, Measured, value_text
from pages.results.repeats import chosen_otherwise

MOST_BELOW = 2
"""Of MNIST's 48 cells of LIMIT: so many we allow to chance."""
AT_LEAST: Mapping[Cell, float] = {
    Cell("cifar10", "uniform", 0.4, 40_000, "limit-g+init"): 90.0,
    Cell("cifar10", "pair", 0.4, 40_000, "limit-l+init"): 89.5,
}
NARROW = f" The value of β was a close call, as [its table]({DETAILS}#values-that-were-run) says."


@dataclass(frozen=True, eq=False)
class OnMnist:
    """How the cells of LIMIT on MNIST stand to the line below the paper's figures."""

    cells: int
    run: Sequence[CellResult]
    others: Sequence[CellResult]
    """Those of other methods."""
    below: Sequence[CellResult]
    seeds: Mapping[str, Sequence[int]]
    """Method → the seeds that all of its cells have."""
    below_by_them: Sequence[CellResult] | None
    """By these seeds alone, since what got more by its result is no fair sample; None if none has more."""


def on_mnist(measured: Measured) -> OnMnist:
    """The cells of LIMIT, by all seeds and by those that all cells of a method have."""
    cells = [cell for cell in STUDIES["mnist"].cells if cell.method in LIMITS]
    found = [result for cell, result in measured.results.items() if cell.data == "mnist"]
    run = [result for result in found if result.cell.method in LIMITS]
    others = [result for result in found if result.cell.method not in LIMITS]
    by_method: dict[str, list[set[int]]] = {}
    for result in run:
        by_method.setdefault(result.cell.method, []).append(set(result.seeds))
    shared = {method: set[int].intersection(*seeds) for method, seeds in by_method.items()}
    below_by_them = None
    if any(set(result.seeds) != shared[result.cell.method] for result in run):
        rows = measured.rows["mnist"]
        again = [
            cell_result(result.cell, [row for row in rows if row.seed in shared[result.cell.method]])
            for result in run
        ]
        below_by_them = _below([result for result in again if result is not None])
    seeds = {method: sorted(own) for method, own in shared.items()}
    return OnMnist(len(cells), run, others, _below(run), seeds, below_by_them)


def _below(results: Sequence[CellResult]) -> list[CellResult]:
    return [result for result in results if not result.meets]


def agreement(measured: Measured) -> str:
    """Whether LIMIT reaches the paper's figures."""
    mnist = on_mnist(measured)
    return "\n".join(
        [
            _of_mnist(mnist),
            *_with_equal_seeds(mnist),
            *(_claim(cell, wanted, measured) for cell, wanted in AT_LEAST.items()),
        ]
    )


def _of_mnist(mnist: OnMnist) -> str:
    if not mnist.run:
        return f"- MNIST: none of the {mnist.cells} cells of LIMIT was run yet."
    run_of = "" if len(mnist.run) == mnist.cells else f" that were run, of {mnist.cells},"
    said = f" Below (accuracy, difference, that line): {listed(mnist.below)}." if mnist.below else ""
    return (
        f"- MNIST: {len(mnist.run) - len(mnist.below)} of the {len(mnist.run)} cells of LIMIT{run_of} are "
        "at or above the paper's value − 2·√(s²/5 + s²/m) − 0.1, where s is the paper's standard deviation "
        f"and m the number of our seeds: {tolerated(1):.1f} s + 0.1 below the paper's with one seed, "
        f"{tolerated(3):.1f} s + 0.1 with three."
        f"{said}{_verdict(mnist.below)}"
    )


def _verdict(below: Sequence[CellResult]) -> str:
    return "" if len(below) <= MOST_BELOW else f" **More than the {MOST_BELOW} that we allow to chance.**"


def _with_equal_seeds(mnist: OnMnist) -> list[str]:
    below = mnist.below_by_them
    if below is None:
        return []
    seeds = "; ".join(f"{LABELS[method]} {', '.join(map(str, own))}" for method, own in mnist.seeds.items())
    return [
        f"- By the seeds alone that all cells of a method have ({seeds}), {len(mnist.run) - len(below)} are"
        f"{f'; below: {listed(below)}.' if below else '.'}{_verdict(below)}"
    ]


def _claim(cell: Cell, wanted: float, measured: Measured) -> str:
    """What was wanted of a cell, what was reached, and how safely."""
    name = f"{LABELS[cell.method]} on {NAMES[cell.data]} with {100 * (cell.p or 0):.0f} % {cell.noise} noise"
    result = measured.results.get(cell)
    if result is None:
        return f"- {name}: {measured.why_none(cell)}; wanted {wanted:.1f} %."
    missed = "" if result.accuracy >= wanted else f": {NOT_REACHED}"
    return (
        f"- {name}: {result.accuracy:.1f} %, wanted {wanted:.1f} %{missed}."
        f"{_repeated(result, wanted, measured)}{late_text(result, measured, wanted)}"
        f"{NARROW if close_call(result, measured) else ''}"
    )


def _repeated(result: CellResult, wanted: float, measured: Measured) -> str:
    """Whether it hangs on a run that was made again."""
    repeat = chosen_otherwise(result, measured)
    if repeat is None:
        return ""
    missed = f", {NOT_REACHED}" if repeat.accuracy < wanted else ""
    return (
        f" It is by the last of {repeat.runs} long runs of {value_text(result.hyper)} with the same seed. By "
        f"the one before, of {repeat.epochs} epochs, validation chose {value_text(repeat.preferred)} with "
        f"{repeat.accuracy:.1f} %{missed}."
    )

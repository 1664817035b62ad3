"""How well the gap finds wrong labels, in docs/results.md."""

from collections.abc import Sequence
from dataclasses import dataclass

from noiselimit.reproduce.cell_result import CellResult
from noiselimit.reproduce.cells import cell_rows
from noiselimit.reproduce.comparison import compare
from noiselimit.reproduce.paper import LABELS
from pages.results.numbers import LIMITS, NAMES, NOT_REACHED, Measured, value_text


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

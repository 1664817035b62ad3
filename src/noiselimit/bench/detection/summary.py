"""Rows of a comparison over seeds: mean and standard deviation of every tool's figures on every problem."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from noiselimit.bench.detection.methods import TRAINED

Row = Mapping[str, Any]
BY_PART = ("auroc", "recall", "false_positives")
PARTS = ("seen", "held_out")
FIGURES = (
    *("auroc", "auprc", "f1", "noise_rate_error", "flagged"),
    *(f"{figure}_{part}" for figure in BY_PART for part in PARTS),
    *("auroc_unscaled", "f1_unscaled"),
)
ABLATION = "folds-averaged"
"""No tool: our score on what the cross-validation says."""
COSTS = ("seconds", "cpu_seconds", "peak_memory")


@dataclass(frozen=True)
class Figure:
    """Over seeds."""

    mean: float
    deviation: float
    """Of the sample; 0 for a single seed."""


@dataclass(frozen=True)
class Summary:
    """One problem."""

    data: str
    noise: str
    rows: tuple[Row, ...]
    """One for every seed."""
    methods: Mapping[str, Mapping[str, Figure]]
    """Method → the name of a figure or cost → what it came to; without those that it does not have."""

    @property
    def seeds(self) -> list[int]:
        """That were measured."""
        return [row["problem"]["seed"] for row in self.rows]

    def best(self, figure: str, among: Iterable[str] | None = None) -> str | None:
        """The method with the highest mean of AUROC, AUPRC or F1; None where nobody has one."""
        known = {
            method: found[figure].mean
            for method, found in self.methods.items()
            if figure in found and (among is None or method in among)
        }
        return max(known, key=lambda method: known[method], default=None)


def is_ours(method: str) -> bool:
    """Whether it is one of our audits."""
    return method.startswith("ours-")


def is_peer(method: str) -> bool:
    """Whether it is somebody else's tool."""
    return not is_ours(method) and method != ABLATION


def summarise(rows: Sequence[Row]) -> list[Summary]:
    """In the order in which problems first occur; rows that differ in more than their seed stay apart."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        problem = row["problem"]
        groups.setdefault((problem["data"], problem["noise"], problem["examples"]), []).append(row)
    return [
        Summary(data, noise, tuple(group), {method: _figures(method, group) for method in _methods(group)})
        for (data, noise, _), group in groups.items()
    ]


def _methods(rows: Sequence[Row]) -> list[str]:
    """Those that any row has, in their usual order."""
    return [method for method in TRAINED if any(method in row["methods"] for row in rows)]


def _figures(method: str, rows: Sequence[Row]) -> dict[str, Figure]:
    measured = [row for row in rows if method in row["methods"]]
    found = {name: [row["methods"][method].get(name) for row in measured] for name in FIGURES}
    costs = [method_cost(row, method) for row in measured]
    found |= {name: [cost[name] for cost in costs] for name in COSTS}
    return {
        name: Figure(fmean(values), stdev(values) if len(values) > 1 else 0.0)
        for name, values in found.items()
        if values and None not in values
    }


def method_cost(row: Row, method: str) -> dict[str, float | None]:
    """Seconds of all trainings that the method needs, and the most memory of any of them."""
    needed = [row["trainings"][training] for training in TRAINED[method]]
    memory = [each["peak_memory"] for each in needed if each["peak_memory"] is not None]
    return {
        "seconds": sum(each["seconds"] for each in needed),
        "cpu_seconds": sum(each["cpu_seconds"] for each in needed),
        "peak_memory": max(memory, default=None),
    }

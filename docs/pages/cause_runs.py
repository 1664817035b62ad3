"""Runs of results/causes.json: chosen, averaged, and in words."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from noiselimit.reproduce.protocol import protocol_for
from pages.spread import spread_text

CauseRun = dict[str, Any]
Part = Mapping[str, Any]


def by_value(results: Part, **wanted: Any) -> dict[float, list[CauseRun]]:
    """Value of the grid → its runs, of those as wanted; what noisy validation prefers comes first."""
    found: dict[float, list[CauseRun]] = {}
    for run in results["runs"]:
        if all(run[name] == value for name, value in wanted.items()):
            found.setdefault(run["value"], []).append(run)
    return dict(sorted(found.items(), key=lambda one: -mean(one[1], "validation_accuracy")))


def mean(runs: Sequence[CauseRun], share: str) -> float:
    """In per cent; a run that failed at once counts as 0."""
    return 100 * fmean(run[share] or 0.0 for run in runs)


def accuracy(runs: Sequence[CauseRun]) -> str:
    """Mean ± standard deviation on the test examples."""
    return spread_text([100 * (run["test_accuracy"] or 0.0) for run in runs])


def command_of(*parts: str, epochs: int | None = None) -> str:
    """'`python docs/measure_causes.py labels --data-dir DIR`'; `epochs` where they are not the tables'."""
    fewer = "" if epochs in (None, protocol_for("mnist").epochs) else f" --epochs {epochs}"
    return f"`python docs/measure_causes.py {' '.join(parts)}{fewer} --data-dir DIR`"


def how(parts: Mapping[str, Part]) -> str:
    """By what the parts were measured, those that were measured alike in one sentence."""
    alike: dict[tuple[str, int], list[str]] = {}
    for part, results in parts.items():
        said = f"seeds {', '.join(map(str, results['seeds']))}, at most {results['epochs']} epochs; "
        alike.setdefault((said + results["hardware"], results["epochs"]), []).append(part)
    return " ".join(
        f"Means ± standard deviations over {said}, by {command_of(*own, epochs=epochs)}."
        for (said, epochs), own in alike.items()
    )

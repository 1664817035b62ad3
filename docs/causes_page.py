"""What docs/results.md says of why cells of MNIST stay below the paper's, from results/causes.json."""

from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import Any

from advantage import advantage
from measure_causes import FEW, PATIENT, SIZES, stored
from spread import spread_text

from noiselimit.reproduce.cell_result import least_agreeing
from noiselimit.reproduce.cells import cell_result
from noiselimit.reproduce.paper import LABELS, paper_figure
from noiselimit.reproduce.rows import ResultRow

__all__ = ["block", "stored"]


def chosen(results: dict[str, Any], **wanted: Any) -> list[dict[str, Any]]:
    """The runs of the value that noisy validation prefers, among those that are as wanted."""
    by_value: dict[float, list[dict[str, Any]]] = {}
    for run in results["runs"]:
        if all(run[name] == value for name, value in wanted.items()):
            by_value.setdefault(run["value"], []).append(run)
    return max(by_value.values(), key=lambda own: fmean(run["validation_accuracy"] for run in own))


def block(results: dict[str, Any], rows: Sequence[ResultRow]) -> str:
    """The measurements as Markdown, beside the tables' rows, and what was not measured yet."""
    said = {"labels": _labels, "batches": _batches, "patience": partial(_patience, rows=rows)}
    parts = [
        say(results[name]) if name in results else f"Not measured yet: {command_of(name)}."
        for name, say in said.items()
    ]
    return "\n\n".join(parts)


def command_of(part: str) -> str:
    """'`python docs/measure_causes.py labels --data-dir DIR`'."""
    return f"`python docs/measure_causes.py {part} --data-dir DIR`"


def _labels(results: dict[str, Any]) -> str:
    p, classes, seeds = results["p"], results["classes"], results["seeds"]
    lines = [
        f"**The draw of the noise.** With p = {p:g} a label is right with probability {1 - p:.4f} and any "
        f"one of the others with {p / (classes - 1):.4f}: only the difference, "
        f"{100 * advantage(1 - p, classes):.2f} points, can be learned or seen in validation. How much of it "
        f"each seed's labels have, for n = {results['n']:,}:",
        "",
        "| seed | " + " | ".join(str(one["seed"]) for one in seeds) + " |",
        "| --- |" + " ---: |" * len(seeds),
    ]
    for name in ("train", "validation"):
        points = [100 * advantage(one[name], classes) for one in seeds]
        lines.append(f"| {name}, points | " + " | ".join(f"{point:.2f}" for point in points) + " |")
    return "\n".join([*lines, "", f"By {command_of('labels')}."])


def _batches(results: dict[str, Any]) -> str:
    lines = [
        "**The size of a batch.** The paper names none, and with few examples and many wrong labels, when "
        "memorising begins depends on it:",
        "",
        f"| test accuracy, % | {' | '.join(f'batches of {size}' for size in SIZES)} | the paper's |",
        "| --- |" + " ---: |" * (len(SIZES) + 1),
    ]
    agreeing = dict.fromkeys(SIZES, 0)
    problems = [(n, p, method) for (n, p), methods in FEW.items() for method in methods]
    for n, p, method in problems:
        own = {size: chosen(results, n=n, method=method, batch_size=size) for size in SIZES}
        paper = paper_figure("mnist", "uniform", p, n, method)
        assert paper is not None
        for size, runs in own.items():
            agreeing[size] += _mean(runs) >= least_agreeing(paper, len(runs))
        cells = [*map(_accuracy, own.values()), paper.text]
        lines.append(f"| {LABELS[method]} at uniform:{p:g}/{n} | " + " | ".join(cells) + " |")
    counts = ", ".join(f"{count} with {size}" for size, count in agreeing.items())
    verdict = (
        f"Of these {len(problems)}, {counts.replace('with', 'with batches of', 1)} are at or above the line "
        "that the cells of LIMIT are held to. The last size is the tables', trained anew in other cohorts, "
        "whence other figures than there."
    )
    return "\n".join([*lines, "", verdict, "", _how("batches", results)])


def _patience(results: dict[str, Any], rows: Sequence[ResultRow]) -> str:
    patient = chosen(results)
    epochs = ", ".join(str(run["best_epoch"]) for run in patient)
    stopped = cell_result(PATIENT, [row for row in rows if row.seed in results["seeds"]])
    beside = f"; with it, on the same seeds, {stopped.accuracy:.1f} ± {stopped.std:.1f} %" if stopped else ""
    return (
        "**Early stopping.** Patience may end a run, whose validation labels say next to nothing, before it "
        f"has learned. {LABELS[PATIENT.method]} at {PATIENT.problem} without early stopping: "
        f"{_accuracy(patient)} % with β {patient[0]['value']:g}, best epochs {epochs} of "
        f"{results['epochs']}{beside}.\n\n" + _how("patience", results)
    )


def _how(part: str, results: dict[str, Any]) -> str:
    return (
        f"Means ± standard deviations over seeds {', '.join(map(str, results['seeds']))}, at most "
        f"{results['epochs']} epochs; {results['hardware']}, by {command_of(part)}."
    )


def _mean(runs: Sequence[dict[str, Any]]) -> float:
    return 100 * fmean(run["test_accuracy"] for run in runs)


def _accuracy(runs: Sequence[dict[str, Any]]) -> str:
    return spread_text([100 * run["test_accuracy"] for run in runs])

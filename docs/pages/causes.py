"""Why cells of MNIST stay below the paper's, in docs/results-details.md, from results/causes.json."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from scipy.stats import t as student

from measure_causes import CHANGED, CHANGES, OF_SIZES
from noiselimit.reproduce.cells import cell_rows
from noiselimit.reproduce.paper import LABELS, paper_figure
from noiselimit.reproduce.rows import ResultRow
from pages import batch_sizes
from pages.advantage import advantage
from pages.cause_runs import accuracy, by_value, command_of, how, mean
from pages.results.choice import standard_error
from pages.results.numbers import signed

SAID = {
    "patience": "no early stopping",
    "schedule": "rate falling as a cosine",
    "weights": "other initial weights, drawn alike",
    "norm": "batch-norm on the predictor's 128 units",
}
"""Part → what it changes."""
SURE = 0.95
"""How often an interval should have the difference in it."""


def block(results: Mapping[str, Any], rows: Sequence[ResultRow]) -> str:
    """The measurements as Markdown, beside the tables' rows, and what was not measured yet."""
    parts = [_labels(results["labels"], rows)] if "labels" in results else []
    sizes = {part: results[part] for part in OF_SIZES if part in results}
    parts += [batch_sizes.section(sizes)] if sizes else []
    changed = {part: results[part] for part in CHANGES if part in results}
    parts += [_changes(changed, rows)] if changed else []
    missing = [name for name in ("labels", *CHANGES) if name not in results]
    missing += [] if sizes else list(OF_SIZES)
    parts += [f"Not measured yet: {command_of(*missing)}."] if missing else []
    return "\n\n".join(parts)


def _labels(results: dict[str, Any], rows: Sequence[ResultRow]) -> str:
    p, classes, seeds = results["p"], results["classes"], results["seeds"]
    lines = [
        f"**The draw of the noise.** With p = {p:g} a label is right with probability {1 - p:.4f} and any "
        f"one of the others with {p / (classes - 1):.4f}: only the difference, "
        f"{100 * advantage(1 - p, classes):.2f} points, can be learned or seen in validation. How much of it "
        f"each seed's labels have, for n = {results['n']:,}, and what becomes of it:",
        "",
        "| seed | " + " | ".join(str(one["seed"]) for one in seeds) + " |",
        "| --- |" + " ---: |" * len(seeds),
    ]
    points = {
        name: [100 * advantage(one[name], classes) for one in seeds] for name in ("train", "validation")
    }
    for name, own in points.items():
        lines.append(f"| {name}, points | " + " | ".join(f"{point:.2f}" for point in own) + " |")
    tests = _by_seed({"runs": [_as_run(row) for row in _of_tables(rows, [one["seed"] for one in seeds])]})
    if tests:
        cells = [f"{tests[one['seed']]:.1f}" if one["seed"] in tests else "" for one in seeds]
        lines.append(f"| {LABELS[CHANGED.method]}, mean over β, test % | " + " | ".join(cells) + " |")
    learnable = dict(zip((one["seed"] for one in seeds), points["train"], strict=True))
    verdict = ""
    if len(tests) > 1 and sorted(tests, key=learnable.__getitem__) == sorted(tests, key=tests.__getitem__):
        verdict = " By what there is to learn and by what was learned, seeds are in the same order."
    return "\n".join([*lines, "", f"By {command_of('labels')}.{verdict}"])


def _changes(changed: dict[str, dict[str, Any]], rows: Sequence[ResultRow]) -> str:
    """LIMIT-L with one thing changed, all of its grid: the choice of a value is most of what happens."""
    first = next(iter(changed.values()))
    usual = {"runs": [_as_run(row) for row in _of_tables(rows, first["seeds"])]}
    table = {"as in the tables": usual, **{SAID[part]: results for part, results in changed.items()}}
    grids = {name: values for name, results in table.items() if (values := by_value(results))}
    betas = sorted(by_value(first))
    lines = [
        f"**What else might lower {LABELS[CHANGED.method]} at {CHANGED.problem}.** Test accuracy in % of "
        "every β, in brackets its noisy validation, by which one is chosen; differences of the mean over β "
        f"from the tables', with {100 * SURE:.0f} % intervals over seeds:",
        "",
        "| | " + " | ".join(f"β {beta:g}" for beta in betas) + " | mean of these | difference | chosen |",
        "| --- |" + " ---: |" * (len(betas) + 3),
    ]
    beside, apart = _by_seed(usual), {}
    for name, values in grids.items():
        means = _by_seed(table[name])
        differences = [means[seed] - beside[seed] for seed in means if seed in beside]
        difference = ""
        if table[name] is not usual and len(differences) > 1:
            mean, width = fmean(differences), _half_width(differences)
            difference, apart[name] = f"{signed(mean)} ± {width:.1f}", (mean, width)
        choice = next(iter(values))
        cells = [
            *(_both(values[beta]) if beta in values else "" for beta in betas),
            f"{fmean(means.values()):.1f}",
            difference,
            f"{accuracy(values[choice])} (β {choice:g})",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    verdict = f"{_verdict(apart)} {_of_choice(list(grids.values()), first)}"
    return "\n".join([*lines, "", verdict.strip(), "", how(changed)])


def _half_width(values: Sequence[float]) -> float:
    """Of the interval around their mean that Student's t gives."""
    return float(student.ppf((1 + SURE) / 2, len(values) - 1)) * stdev(values) / math.sqrt(len(values))


def _verdict(apart: Mapping[str, tuple[float, float]]) -> str:
    """Which changes do something, in the mean over the grid, which no choice blurs."""
    if not apart:
        return ""
    found = [name for name, (mean, width) in apart.items() if abs(mean) > width]
    widths = [width for _, width in apart.values()]
    said = f"Beyond chance: {'; '.join(found)}." if found else f"None of the {len(apart)} is beyond chance,"
    return (
        f"{said} {'With' if found else 'but with'} so few seeds effects of less than {min(widths):.1f} to "
        f"{max(widths):.1f} points would not be seen."
    )


def _of_choice(grids: Sequence[Mapping[float, Sequence[dict[str, Any]]]], measured: dict[str, Any]) -> str:
    """What validation chooses in each row, and what choosing by test labels would give."""
    tests = [[mean(runs, "test_accuracy") for runs in values.values()] for values in grids]
    best, chosen = list(map(max, tests)), [own[0] for own in tests]
    paper = paper_figure(CHANGED.data, CHANGED.noise, CHANGED.p, CHANGED.n, CHANGED.method)
    assert paper is not None
    return (
        f"What validation chooses has {min(chosen):.1f} to {max(chosen):.1f} by row, the best β of a row, "
        f"which only clean labels could tell, {min(best):.1f} to {max(best):.1f}, and the paper "
        f"{paper.text}: validation has a standard error of {_error(measured)} points in the mean over these "
        "seeds, and the choice hangs on it. The tables' initial weights are drawn as PyTorch does by default."
    )


def _by_seed(results: dict[str, Any]) -> dict[int, float]:
    """Seed → test accuracy in the mean over the grid, in per cent."""
    runs = results["runs"]
    seeds = dict.fromkeys(run["seed"] for run in runs)
    return {seed: mean([run for run in runs if run["seed"] == seed], "test_accuracy") for seed in seeds}


def _error(results: dict[str, Any]) -> str:
    """Of the mean validation accuracy of a value, in points."""
    share = fmean(run["validation_accuracy"] or 0.0 for run in results["runs"])
    return f"{standard_error(share, CHANGED.data, len(results['seeds'])):.2f}"


def _of_tables(rows: Sequence[ResultRow], seeds: Sequence[int]) -> list[ResultRow]:
    """The tables' own runs of the changed cell."""
    found = cell_rows(CHANGED, rows).values()
    return [row for own in found for row in own if row.seed in seeds and row.has_result]


def _as_run(row: ResultRow) -> dict[str, Any]:
    return {
        "seed": row.seed,
        "value": float(row.hyper.removeprefix("beta=")),
        "validation_accuracy": row.validation_accuracy,
        "test_accuracy": row.test_accuracy,
    }


def _both(runs: Sequence[dict[str, Any]]) -> str:
    return f"{mean(runs, 'test_accuracy'):.1f} ({mean(runs, 'validation_accuracy'):.2f})"

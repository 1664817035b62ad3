"""Why cells of MNIST stay below the paper's, in docs/results-details.md, from results/causes.json."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from scipy.stats import t as student

from measure_causes import AGREEING, CHANGED, CHANGES, LOW, SIZES
from noiselimit.reproduce.cell_result import least_agreeing
from noiselimit.reproduce.cells import cell_rows
from noiselimit.reproduce.paper import LABELS, paper_figure
from noiselimit.reproduce.rows import ResultRow
from pages.advantage import advantage
from pages.results.choice import standard_error
from pages.results.numbers import signed
from pages.spread import spread_text

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
    parts += [_batches(results["batches"])] if "batches" in results else []
    changed = {part: results[part] for part in CHANGES if part in results}
    parts += [_changes(changed, rows)] if changed else []
    missing = [name for name in ("labels", "batches", *CHANGES) if name not in results]
    parts += [f"Not measured yet: {command_of(*missing)}."] if missing else []
    return "\n\n".join(parts)


def by_value(results: dict[str, Any], **wanted: Any) -> dict[float, list[dict[str, Any]]]:
    """Value of the grid → its runs, of those as wanted; what noisy validation prefers comes first."""
    found: dict[float, list[dict[str, Any]]] = {}
    for run in results["runs"]:
        if all(run[name] == value for name, value in wanted.items()):
            found.setdefault(run["value"], []).append(run)
    return dict(sorted(found.items(), key=lambda one: -_mean(one[1], "validation_accuracy")))


def command_of(*parts: str) -> str:
    """'`python docs/measure_causes.py labels --data-dir DIR`'."""
    return f"`python docs/measure_causes.py {' '.join(parts)} --data-dir DIR`"


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


def _batches(results: dict[str, Any]) -> str:
    lines = [
        "**The size of a batch.** The paper names none, and with few examples and many wrong labels, when "
        "memorising begins depends on it:",
        "",
        f"| test accuracy, % | {' | '.join(f'batches of {size}' for size in SIZES)} | the paper's |",
        "| --- |" + " ---: |" * (len(SIZES) + 1),
    ]
    agreeing: dict[int, int] = dict.fromkeys(SIZES, 0)
    measured = {(run["n"], run["noise"], run["method"]) for run in results["runs"]}
    wanted_problems = [*_each(LOW), *_each(AGREEING)]
    problems = [one for one in wanted_problems if (one[0], f"uniform:{one[1]:g}", one[2]) in measured]
    missing = [one for one in wanted_problems if one not in problems]
    for n, p, method in problems:
        wanted = {"n": n, "noise": f"uniform:{p:g}", "method": method}
        own = [next(iter(by_value(results, **wanted, batch_size=size).values())) for size in SIZES]
        paper = paper_figure("mnist", "uniform", p, n, method)
        assert paper is not None
        for size, runs in zip(SIZES, own, strict=True):
            agreeing[size] += _mean(runs, "test_accuracy") >= least_agreeing(paper, len(runs))
        cells = [*map(_accuracy, own), paper.text]
        lines.append(f"| {LABELS[method]} at uniform:{p:g}/{n} | " + " | ".join(cells) + " |")
    counts = ", ".join(f"{count} with {size}" for size, count in agreeing.items())
    verdict = (
        f"Of these {len(problems)}, {counts.replace('with', 'with batches of', 1)} are at or above the line "
        "that the cells of LIMIT are held to. The author's code has 256, so that this shows how much such "
        "cells depend on details, and not what the paper's runs did. With 256 these are the tables' runs "
        "once more, in other cohorts: how far they are from the tables' figures is what rounding does."
    )
    said = f"{_how({'batches': results})}{_not_run(missing)}"
    return "\n".join([*lines, "", verdict, "", said])


def _each(problems: Mapping[tuple[int, float], Sequence[str]]) -> list[tuple[int, float, str]]:
    return [(n, p, method) for (n, p), methods in problems.items() for method in methods]


def _not_run(problems: Sequence[tuple[int, float, str]]) -> str:
    """What is missing, and what cannot be said without cells that agree as things are."""
    if not problems:
        return ""
    listed = ", ".join(f"{LABELS[method]} at uniform:{p:g}/{n}" for n, p, method in problems)
    without = (
        " These agree with the paper as things are. The table's cells were looked at for being low, and such "
        "cells rise on the average whatever is changed: how much of it is the size, only these can tell."
        if set(_each(AGREEING)) <= set(problems)
        else ""
    )
    return f" Not run yet: {listed}.{without}"


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
            f"{_accuracy(values[choice])} (β {choice:g})",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    verdict = f"{_verdict(apart)} {_of_choice(list(grids.values()), first)}"
    return "\n".join([*lines, "", verdict.strip(), "", _how(changed)])


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
    tests = [[_mean(runs, "test_accuracy") for runs in values.values()] for values in grids]
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
    return {seed: _mean([run for run in runs if run["seed"] == seed], "test_accuracy") for seed in seeds}


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


def _how(parts: Mapping[str, dict[str, Any]]) -> str:
    """By what the parts were measured, those that were measured alike in one sentence."""
    alike: dict[str, list[str]] = {}
    for part, results in parts.items():
        how = f"seeds {', '.join(map(str, results['seeds']))}, at most {results['epochs']} epochs; "
        alike.setdefault(how + results["hardware"], []).append(part)
    return " ".join(
        f"Means ± standard deviations over {how}, by {command_of(*own)}." for how, own in alike.items()
    )


def _mean(runs: Sequence[dict[str, Any]], share: str) -> float:
    """In per cent; a run that failed at once counts as 0."""
    return 100 * fmean(run[share] or 0.0 for run in runs)


def _accuracy(runs: Sequence[dict[str, Any]]) -> str:
    return spread_text([100 * (run["test_accuracy"] or 0.0) for run in runs])


def _both(runs: Sequence[dict[str, Any]]) -> str:
    return f"{_mean(runs, 'test_accuracy'):.1f} ({_mean(runs, 'validation_accuracy'):.2f})"

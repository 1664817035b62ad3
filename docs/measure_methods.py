"""Every method on MNIST with half of the labels wrong, 10,000 training examples, 30 epochs: docs/methods.md.

    python docs/measure_methods.py grid --data-dir DIR     every method's grid, preferably on a GPU
    python docs/measure_methods.py table --data-dir DIR    the setting that the grid chose, on the CPU

The first writes results/methods-grid.json, the second reads it and writes results/methods.json. In both, the
setting of a method is the one with the highest mean accuracy on the noisy validation labels; clean labels
only measure. `make docs` then puts the table into docs/methods.md.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from pages.spread import spread_text

ROOT = Path(__file__).resolve().parent.parent
GRID = ROOT / "results" / "methods-grid.json"
TABLE = ROOT / "results" / "methods.json"

PROBLEM = {"noise": "uniform:0.5", "train_size": 10_000, "epochs": 30}
BETAS = [0, 0.1, 0.3, 1, 3, 10, 30, 100]
SIGMAS = [0.01, 0.03, 0.1, 0.3]
SEARCHED: dict[str, dict[str, list[float]]] = {
    "ce": {},
    "ce-gn": {"sigma": SIGMAS},
    "ce-ln": {"sigma": SIGMAS},
    "mae": {},
    "gce": {},
    "fw": {},
    "dmi": {"learning_rate": [1e-3, 1e-4, 1e-5, 1e-6]},
    "soft-penalty": {"penalty": [0.001, 0.01, 0.03, 0.1], "beta": [0, 0.01, 0.1, 1, 10]},
    "limit-ce": {"beta": BETAS},
    "limit-g": {"beta": BETAS},
    "limit-g+s": {"beta": BETAS, "sigma": SIGMAS},
    "limit-g+init": {"beta": BETAS},
    "limit-l": {"beta": BETAS},
    "limit-l+s": {"beta": BETAS, "sigma": SIGMAS},
    "limit-l+init": {"beta": BETAS},
}
"""What the paper searches for each method (its section on hyper-parameters); limit-ce as the other LIMITs."""


def measure_grid(data_dir: str, device: str, seeds: Sequence[int], out: Path) -> dict[str, Any]:
    """Train the whole grid; one line per run."""
    from noiselimit import grid

    runs: list[Any] = []
    seconds = 0.0
    for seed in seeds:  # a cohort of one seed's grid is large enough
        specs = [
            spec
            for method, choices in SEARCHED.items()
            for spec in grid(method=method, seed=seed, **choices, **PROBLEM)
        ]
        more, took = _train(specs, data_dir, device, None, out)
        runs, seconds = runs + more, seconds + took
    return {
        **_circumstances(runs),
        "seconds": round(seconds, 1),
        "seeds": list(seeds),
        "runs": [
            {
                "method": run.spec.method,
                "setting": _setting(run),
                "seed": run.spec.seed,
                "validation_accuracy": run.metrics["validation_accuracy"],
                "validation_loss": run.metrics["validation_loss"],
                "test_accuracy": run.metrics["test_accuracy"],
                "failure": run.metrics["failure"],
            }
            for run in runs
        ],
    }


def chosen_settings(results: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Method → the setting with the best mean noisy-validation accuracy; ties go to the lower loss."""
    settings: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in results["runs"]:
        settings.setdefault((run["method"], json.dumps(run["setting"], sort_keys=True)), []).append(run)
    best: dict[str, tuple[tuple[float, float], dict[str, float]]] = {}
    for (method, setting), runs in settings.items():
        if any(run["failure"] for run in runs):
            continue
        merit = (
            fmean(run["validation_accuracy"] for run in runs),
            -fmean(run["validation_loss"] for run in runs),
        )
        if method not in best or merit > best[method][0]:
            best[method] = (merit, json.loads(setting))
    return {method: best[method][1] for method in SEARCHED}


def measure_table(
    data_dir: str, device: str, threads: int | None, seeds: Sequence[int], out: Path
) -> dict[str, Any]:
    """Train each method's chosen setting, one seed after another so that each run has a core to itself."""
    from noiselimit import grid

    settings = chosen_settings(json.loads(GRID.read_text("utf-8")))
    lines: list[dict[str, Any]] = []
    every: list[Any] = []
    for seed in seeds:
        specs = [
            spec
            for method, setting in settings.items()
            for spec in grid(method=method, seed=seed, **setting, **PROBLEM)
        ]
        runs, _ = _train(specs, data_dir, device, threads, out)
        every += runs
        lines += [
            {
                "method": run.spec.method,
                "setting": _setting(run),
                "seed": seed,
                "test_accuracy": run.metrics["test_accuracy"],
                "last_test_accuracy": run.metrics["last_test_accuracy"],
                "gap_auc": run.metrics["gap_auc"],
                "seconds": run.metrics["cohort_seconds"],
            }
            for run in runs
        ]
    return {
        **_circumstances(every),
        "seeds": list(seeds),
        "examples": {part: every[0].metrics[f"{part}_examples"] for part in ("train", "validation", "test")},
        "epochs": PROBLEM["epochs"],
        "runs": lines,
    }


def _train(
    specs: Sequence[Any], data_dir: str, device: str, threads: int | None, out: Path
) -> tuple[list[Any], float]:
    from noiselimit import load_data, train

    def progress(news: Any) -> None:
        if news.record is None:
            print(f"{news.done} of {news.total} epochs, {time.perf_counter() - started:.0f} s", flush=True)

    started = time.perf_counter()
    runs = train(
        specs, load_data("mnist", data_dir), out=out, device=device, threads=threads, progress=progress
    )
    return runs, time.perf_counter() - started


def _setting(run: Any) -> dict[str, float]:
    """What was searched for this run's method."""
    return {name: run.spec.hyper.get(name, run.spec.learning_rate) for name in SEARCHED[run.spec.method]}


def _circumstances(runs: Sequence[Any]) -> dict[str, Any]:
    return {
        "command": " ".join(["python", "docs/measure_methods.py", *sys.argv[1:2]]),
        "problem": PROBLEM,
        "hardware": runs[0].metrics["device"],
        "versions": runs[0].metrics["versions"],
    }


def paper_accuracy(method: str) -> str:
    """The paper's figure for this problem, or a dash where it has none."""
    from noiselimit.reproduce.paper import paper_figure

    found = paper_figure("mnist", "uniform", 0.5, 10_000, method)
    return "–" if found is None else found.text


def table(results: dict[str, Any]) -> str:
    """results/methods.json as a Markdown table."""
    rows = [
        "| method | setting | test accuracy, % | last epoch, % | the paper's, % | seconds |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for method in SEARCHED:
        lines = [line for line in results["runs"] if line["method"] == method]
        setting = ", ".join(
            f"{name.replace('_', ' ')} {value:g}" for name, value in lines[0]["setting"].items()
        )
        cells = [
            spread_text([100 * line["test_accuracy"] for line in lines]),
            spread_text([100 * line["last_test_accuracy"] for line in lines]),
            paper_accuracy(method),
            f"{fmean(line['seconds'] for line in lines):.0f}",
        ]
        rows.append(f"| {method} | {setting or '–'} | " + " | ".join(cells) + " |")
    sizes, versions = results["examples"], results["versions"]
    rows += [
        "",
        f"MNIST, {sizes['train']} training examples with half of the labels wrong (uniform noise), "
        f"{sizes['validation']} validation examples with the same noise, {sizes['test']} clean test "
        f"examples, {results['epochs']} epochs, mean ± standard deviation over seeds "
        f"{', '.join(map(str, results['seeds']))}; test accuracy at the epoch with the best noisy-validation "
        "accuracy. Settings were chosen by mean noisy-validation accuracy from the paper's grids "
        "(results/methods-grid.json). Seconds are for one run, training and measuring, on one core of "
        f"{results['hardware']} with the other runs beside it, without the CE run that fw, dmi and +init "
        f"start from ({', '.join(f'{name} {version}' for name, version in versions.items())}). The "
        "paper's figures are for up to 400 epochs.",
    ]
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["grid", "table"])
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--device", default=None, help="default: auto for the grid, cpu for the table")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--runs", default=None, help="folder for the run folders")
    given = parser.parse_args()
    seeds = [int(seed) for seed in given.seeds.split(",")]
    out = Path(given.runs or ROOT / "runs" / f"methods-{given.what}")
    if given.what == "grid":
        results, path = measure_grid(given.data_dir, given.device or "auto", seeds, out), GRID
    else:
        results = measure_table(given.data_dir, given.device or "cpu", given.threads, seeds, out)
        path = TABLE
    path.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

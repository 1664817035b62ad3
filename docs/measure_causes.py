"""Why some of MNIST's cells stay below the paper's: docs/results.md.

    python docs/measure_causes.py {labels,batches,patience}… --data-dir DIR [--device cuda]

- labels: how many labels are right, seed by seed, where nearly all are wrong. Nothing is trained.
- batches: the size of a batch, which the paper does not name (256 is that of the author's code), for the
  methods without a predictor on few examples.
- patience: LIMIT-L without early stopping, where nearly all labels are wrong.

All else is the tables' protocol; values of a grid are chosen by noisy validation, as in the tables. Each part
is added to results/causes.json when it is done.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from advantage import advantage
from spread import spread_text

from noiselimit import load_data, train
from noiselimit.cohort.prepare import prepare
from noiselimit.data.examples import DataSet
from noiselimit.files import write_json
from noiselimit.reproduce.paper import LABELS, paper_figure
from noiselimit.reproduce.protocol import Protocol, protocol_for
from noiselimit.reproduce.studies import Cell
from noiselimit.spec import RunSpec
from noiselimit.training import circumstances

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "causes.json"
SEEDS = (0, 1, 2)
LABEL_SEEDS = (0, 1, 2, 3, 4)
SIZES = (64, 128, 256)
FEW = {(1000, 0.5): ("ce", "mae", "fw", "dmi"), (10_000, 0.8): ("ce", "mae")}
"""n and share of wrong labels → methods with other sizes of a batch."""
PATIENT = Cell("mnist", "uniform", 0.89, 48_000, "limit-l")
"""The cell without early stopping."""


def batch_specs(protocol: Protocol, seeds: Sequence[int]) -> list[RunSpec]:
    """Methods without a predictor, each with every size of a batch."""
    return [
        spec
        for (n, p), methods in FEW.items()
        for method in methods
        for size in SIZES
        for spec in Cell("mnist", "uniform", p, n, method).specs(seeds, replace(protocol, batch_size=size))
    ]


def patient_specs(protocol: Protocol, seeds: Sequence[int]) -> list[RunSpec]:
    """LIMIT-L to the last epoch, however long validation has not risen."""
    return PATIENT.specs(seeds, replace(protocol, patience=protocol.epochs))


def right_labels(data: DataSet, seeds: Sequence[int] = LABEL_SEEDS) -> dict[str, Any]:
    """Shares of right labels among those that runs of the patient cell train and validate on."""
    protocol = protocol_for("mnist")
    found = []
    for seed in seeds:
        run = prepare(PATIENT.specs([seed])[0], data)
        right = run.examples.labels == run.examples.clean_labels
        shares = {"train": right[run.split.train], "validation": right[run.split.validation]}
        found.append({"seed": seed, **{name: float(own.mean()) for name, own in shares.items()}})
    return {
        "p": PATIENT.p,
        "n": protocol.train_examples(PATIENT.n),
        "classes": protocol.classes,
        **circumstances(torch.device("cpu")),
        "seeds": found,
    }


def trained(specs: Sequence[RunSpec], data: DataSet, device: str) -> dict[str, Any]:
    """Train; one line per run."""
    with tempfile.TemporaryDirectory() as folder:
        runs = train(specs, data, out=folder, device=device)
    return {
        "hardware": runs[0].metrics["device"],
        "versions": runs[0].metrics["versions"],
        "epochs": specs[0].epochs,
        "seeds": sorted({spec.seed for spec in specs}),
        "runs": [
            {
                "n": run.spec.train_size or PATIENT.n,
                "method": run.spec.method,
                "value": run.spec.hyper.get("beta", run.spec.learning_rate),
                "batch_size": run.spec.batch_size,
                "patience": run.spec.patience,
                "seed": run.spec.seed,
                "best_epoch": run.metrics["best_epoch"],
                "validation_accuracy": run.metrics["validation_accuracy"],
                "test_accuracy": run.metrics["test_accuracy"],
            }
            for run in runs
        ],
    }


def stored(path: Path = RESULTS) -> dict[str, Any]:
    """Part → what was measured of it."""
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def chosen(results: dict[str, Any], **wanted: Any) -> list[dict[str, Any]]:
    """The runs of the value that noisy validation prefers, among those that are as wanted."""
    by_value: dict[float, list[dict[str, Any]]] = {}
    for run in results["runs"]:
        if all(run[name] == value for name, value in wanted.items()):
            by_value.setdefault(run["value"], []).append(run)
    return max(by_value.values(), key=lambda own: fmean(run["validation_accuracy"] for run in own))


def block(results: dict[str, Any]) -> str:
    """The measurements as Markdown, and what was not measured yet."""
    parts = [
        said(results[name]) if name in results else f"Not measured yet: {command_of(name)}."
        for name, said in {"labels": _labels, "batches": _batches, "patience": _patience}.items()
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
    for (n, p), methods in FEW.items():
        for method in methods:
            own = [chosen(results, n=n, method=method, batch_size=size) for size in SIZES]
            paper = paper_figure("mnist", "uniform", p, n, method)
            cells = [*map(_accuracy, own), paper.text if paper else "–"]
            lines.append(f"| {LABELS[method]} at uniform:{p:g}/{n} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", _how("batches", results)])


def _patience(results: dict[str, Any]) -> str:
    patient = chosen(results)
    epochs = ", ".join(str(run["best_epoch"]) for run in patient)
    return (
        "**Early stopping.** Patience may end a run, whose validation labels say next to nothing, before it "
        f"has learned. {LABELS[PATIENT.method]} at {PATIENT.problem} without early stopping: "
        f"{_accuracy(patient)} % with β {patient[0]['value']:g}, best epochs {epochs} of "
        f"{results['epochs']}.\n\n" + _how("patience", results)
    )


def _how(part: str, results: dict[str, Any]) -> str:
    return (
        f"Means ± standard deviations over seeds {', '.join(map(str, results['seeds']))}, at most "
        f"{results['epochs']} epochs; {results['hardware']}, by {command_of(part)}."
    )


def _accuracy(runs: Sequence[dict[str, Any]]) -> str:
    return spread_text([100 * run["test_accuracy"] for run in runs])


def main() -> None:
    """Measure the parts that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="+", choices=("labels", "batches", "patience"))
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--epochs", type=int, help="At most so many; the tables' 400 by default.")
    parser.add_argument("--seed", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    data = load_data("mnist", options.data_dir)
    protocol = protocol_for("mnist", epochs=options.epochs)
    for part in options.parts:
        if part == "labels":
            found = right_labels(data)
        else:
            specs = {"batches": batch_specs, "patience": patient_specs}[part](protocol, options.seed)
            found = trained(specs, data, options.device)
        write_json(options.out, {**stored(options.out), part: found})


if __name__ == "__main__":
    main()

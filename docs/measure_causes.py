"""Why some of MNIST's cells stay below the paper's: docs/results.md.

    python docs/measure_causes.py --data-dir DIR [--device cuda]

Two things that the paper leaves open are varied, all else is the tables' protocol. The size of a batch, which
it does not name (256 is that of the author's code), for the methods without a predictor on few examples; and
the patience, where nearly all labels are wrong, for LIMIT-L. Values of a grid are chosen by noisy validation,
as in the tables. Writes results/causes.json.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from spread import spread_text

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "causes.json"
SEEDS = (0, 1, 2)
SIZES = (64, 128, 256)
FEW = {(1000, 0.5): ("ce", "mae", "fw", "dmi"), (10_000, 0.8): ("ce", "mae")}
"""n and share of wrong labels → methods with other sizes of a batch."""
PATIENT = (48_000, 0.89, "limit-l")
"""n, share of wrong labels and method of the cell without early stopping."""


def specs(epochs: int | None, seeds: Sequence[int]) -> list[Any]:
    """Everything that is trained."""
    from noiselimit import grid
    from noiselimit.reproduce.protocol import protocol_for

    protocol = protocol_for("mnist", epochs=epochs)

    def grid_of(n: int, p: float, method: str, **changes: Any) -> list[Any]:
        usual = {
            "network": protocol.network,
            "train_size": protocol.train_sizes[n],
            "epochs": protocol.epochs,
            "patience": protocol.patience,
            **{name: list(values) for name, values in protocol.grids[method].items()},
        }
        return list(grid(method=method, noise=f"uniform:{p}", seed=list(seeds), **{**usual, **changes}))

    few = [
        spec
        for (n, p), methods in FEW.items()
        for method in methods
        for spec in grid_of(n, p, method, batch_size=list(SIZES))
    ]
    return few + grid_of(*PATIENT, patience=protocol.epochs)


def measure(data_dir: str, device: str, epochs: int | None, seeds: Sequence[int]) -> dict[str, Any]:
    """Train everything; one line per run."""
    from noiselimit import load_data, train
    from noiselimit.reproduce.protocol import protocol_for

    with tempfile.TemporaryDirectory() as folder:
        runs = train(specs(epochs, seeds), load_data("mnist", data_dir), out=folder, device=device)
    return {
        "command": f"python docs/measure_causes.py --data-dir DIR --device {device}",
        "hardware": runs[0].metrics["device"],
        "versions": runs[0].metrics["versions"],
        "epochs": epochs or protocol_for("mnist").epochs,
        "seeds": list(seeds),
        "runs": [
            {
                "n": run.spec.train_size or PATIENT[0],
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


def stored() -> dict[str, Any] | None:
    """What was measured, if it was."""
    return json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else None


def chosen(results: dict[str, Any], **wanted: Any) -> list[dict[str, Any]]:
    """The runs of the value that noisy validation prefers, among those that are as wanted."""
    by_value: dict[float, list[dict[str, Any]]] = {}
    for run in results["runs"]:
        if all(run[name] == value for name, value in wanted.items()):
            by_value.setdefault(run["value"], []).append(run)
    return max(by_value.values(), key=lambda own: fmean(run["validation_accuracy"] for run in own))


def block(results: dict[str, Any] | None) -> str:
    """The measurements as Markdown tables beside the paper's."""
    from noiselimit.reproduce.paper import LABELS, paper_figure

    if results is None:
        return "Not measured yet: `python docs/measure_causes.py`."
    lines = [
        f"| test accuracy, % | {' | '.join(f'batches of {size}' for size in SIZES)} | the paper's |",
        "| --- |" + " ---: |" * (len(SIZES) + 1),
    ]
    for (n, p), methods in FEW.items():
        for method in methods:
            own = [chosen(results, n=n, method=method, batch_size=size) for size in SIZES]
            paper = paper_figure("mnist", "uniform", p, n, method)
            cells = [*map(_accuracy, own), paper.text if paper else "–"]
            lines.append(f"| {LABELS[method]} at uniform:{p:g}/{n} | " + " | ".join(cells) + " |")
    n, p, method = PATIENT
    patient = chosen(results, n=n, method=method)
    epochs = ", ".join(str(run["best_epoch"]) for run in patient)
    lines += [
        "",
        f"{LABELS[method]} at uniform:{p:g}/{n} without early stopping: {_accuracy(patient)} % with β "
        f"{patient[0]['value']:g}, best epochs {epochs} of {results['epochs']}.",
        "",
        f"Means ± standard deviations over seeds {', '.join(map(str, results['seeds']))}, at most "
        f"{results['epochs']} epochs; {results['hardware']}, by `{results['command']}`.",
    ]
    return "\n".join(lines)


def _accuracy(runs: Sequence[dict[str, Any]]) -> str:
    return spread_text([100 * run["test_accuracy"] for run in runs])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--epochs", type=int, help="At most so many; the tables' 400 by default.")
    parser.add_argument("--seed", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    measured = measure(options.data_dir, options.device, options.epochs, options.seed)
    options.out.write_text(json.dumps(measured, indent=1) + "\n", "utf-8")

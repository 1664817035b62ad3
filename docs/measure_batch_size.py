"""What the size of a batch does on a thousand examples of MNIST, half of their labels wrong: docs/results.md.

    python docs/measure_batch_size.py --data-dir DIR [--device cuda]

The paper names no batch size; its author's code has 256, and so have the tables. There, methods without a
predictor stay below the paper's figures with n = 1,000. Trains them and LIMIT by the tables' protocol with
smaller batches as well, and writes results/batch-size.json.
"""

import argparse
import json
import tempfile
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "batch-size.json"
N, P = 1000, 0.5
SIZES = (32, 64, 128, 256)
SEEDS = (0, 1, 2)
METHODS: dict[str, dict[str, float]] = {
    "ce": {},
    "mae": {},
    "fw": {},
    "dmi": {"learning_rate": 1e-4},
    "limit-g": {"beta": 100},
    "limit-l": {"beta": 100},
}
"""With the values that the tables' grids chose for this cell."""


def measure(data_dir: str, device: str, epochs: int | None) -> dict[str, Any]:
    """Train everything; one line per run."""
    from noiselimit import grid, load_data, train
    from noiselimit.reproduce.protocol import protocol_for

    protocol = protocol_for("mnist")
    specs = [
        spec
        for method, values in METHODS.items()
        for spec in grid(
            method=method,
            batch_size=list(SIZES),
            seed=list(SEEDS),
            noise=f"uniform:{P}",
            network=protocol.network,
            train_size=N,
            epochs=epochs or protocol.epochs,
            patience=protocol.patience,
            **values,
        )
    ]
    with tempfile.TemporaryDirectory() as folder:
        runs = train(specs, load_data("mnist", data_dir), out=folder, device=device)
    return {
        "command": f"python docs/measure_batch_size.py --data-dir DIR --device {device}",
        "hardware": runs[0].metrics["device"],
        "versions": runs[0].metrics["versions"],
        "epochs": epochs or protocol.epochs,
        "patience": protocol.patience,
        "seeds": list(SEEDS),
        "runs": [
            {
                "method": run.spec.method,
                "batch_size": run.spec.batch_size,
                "seed": run.spec.seed,
                "best_epoch": run.metrics["best_epoch"],
                "test_accuracy": run.metrics["test_accuracy"],
            }
            for run in runs
        ],
    }


def stored() -> dict[str, Any] | None:
    """What was measured, if it was."""
    return json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else None


def block(results: dict[str, Any] | None) -> str:
    """The measurements as a Markdown table beside the paper's."""
    from results_numbers import LABELS

    from noiselimit.reproduce.paper import paper_figure

    if results is None:
        return "Not measured yet."
    lines = [
        f"| test accuracy, % | {' | '.join(f'batches of {size}' for size in SIZES)} | the paper's |",
        "| --- |" + " ---: |" * (len(SIZES) + 1),
    ]
    for method in METHODS:
        paper = paper_figure("mnist", "uniform", P, N, method)
        cells = [_spread(results, method, size) for size in SIZES]
        cells.append("–" if paper is None else f"{paper.accuracy:.1f} ± {paper.std:.1f}")
        lines.append(f"| {LABELS[method]} | " + " | ".join(cells) + " |")
    lines += [
        "",
        f"MNIST, n = {N:,}, uniform noise of {P:g}, at most {results['epochs']} epochs, seeds "
        f"{', '.join(map(str, results['seeds']))}; {results['hardware']}, by `{results['command']}`.",
    ]
    return "\n".join(lines)


def _spread(results: dict[str, Any], method: str, size: int) -> str:
    own = [
        100 * run["test_accuracy"]
        for run in results["runs"]
        if (run["method"], run["batch_size"]) == (method, size)
    ]
    return f"{fmean(own):.1f} ± {stdev(own):.1f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--epochs", type=int, help="At most so many; the tables' 400 by default.")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    measured = measure(options.data_dir, options.device, options.epochs)
    options.out.write_text(json.dumps(measured, indent=1) + "\n", "utf-8")

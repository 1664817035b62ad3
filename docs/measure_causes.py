"""Why some of MNIST's cells stay below the paper's: docs/results-details.md.

    python docs/measure_causes.py PART… --data-dir DIR [--device cuda]

- labels: how many labels are right, seed by seed, where nearly all are wrong. Nothing is trained.
- batches: the size of a batch, which the paper does not name (256 is that of the author's code), for the
  methods without a predictor on few examples.
- controls: the same for cells that agree with the paper as they are.
- patience, schedule, weights, norm: LIMIT-L where nearly all labels are wrong, one thing changed.

All else is the tables' protocol; values of a grid are chosen by noisy validation, as in the tables. Each part
is added to results/causes.json when it is done.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from noiselimit import load_data, train
from noiselimit.bench.provenance import source_state
from noiselimit.cohort.prepare import prepare
from noiselimit.data.examples import DataSet
from noiselimit.files import write_json
from noiselimit.noise.kinds import noise_to_json
from noiselimit.reproduce.protocol import Protocol, protocol_for
from noiselimit.reproduce.studies import Cell
from noiselimit.spec import RunSpec
from noiselimit.training import circumstances

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "causes.json"
SEEDS = (0, 1, 2)
LABEL_SEEDS = (0, 1, 2, 3, 4)
SIZES = (64, 128, 256)
OF_SIZES: Mapping[str, Sequence[Cell]] = {
    "batches": [
        *(Cell("mnist", "uniform", 0.5, 1000, method) for method in ("ce", "mae", "fw", "dmi")),
        *(Cell("mnist", "uniform", 0.8, 10_000, method) for method in ("ce", "mae")),
    ],
    "controls": [Cell("mnist", "uniform", 0.8, 1000, method) for method in ("ce", "mae")],
}
"""Part → the cells that it trains with every size of a batch."""
CHANGED = Cell("mnist", "uniform", 0.89, 48_000, "limit-l")
"""The cell in which one thing is changed."""
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "patience": {"patience": 400},
    "schedule": {"schedule": "cosine"},
    "weights": {"network": "causes_networks:other_weights"},
    "norm": {"predictor_network": "causes_networks:with_norm"},
}
"""Part → the fields of a run's spec that it changes."""


def batch_specs(part: str, protocol: Protocol, seeds: Sequence[int]) -> list[RunSpec]:
    """Methods without a predictor, each with every size of a batch."""
    return [
        spec
        for cell in OF_SIZES[part]
        for size in SIZES
        for spec in cell.specs(seeds, replace(protocol, batch_size=size))
    ]


def changed_specs(part: str, protocol: Protocol, seeds: Sequence[int]) -> list[RunSpec]:
    """LIMIT-L with every β, one thing changed."""
    return [replace(spec, **CHANGES[part]) for spec in CHANGED.specs(seeds, protocol)]


def right_labels(data: DataSet, seeds: Sequence[int] = LABEL_SEEDS) -> dict[str, Any]:
    """Shares of right labels among those that runs of the changed cell train and validate on."""
    protocol = protocol_for("mnist")
    found = []
    for seed in seeds:
        run = prepare(CHANGED.specs([seed])[0], data)
        right = run.examples.labels == run.examples.clean_labels
        shares = {"train": right[run.split.train], "validation": right[run.split.validation]}
        found.append({"seed": seed, **{name: float(own.mean()) for name, own in shares.items()}})
    return {
        "p": CHANGED.p,
        "n": protocol.train_examples(CHANGED.n),
        "classes": protocol.classes,
        **circumstances(torch.device("cpu")),
        "seeds": found,
    }


def trained(specs: Sequence[RunSpec], data: DataSet, device: str) -> dict[str, Any]:
    """Train; one line per run."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        runs = train(specs, data, out=folder, device=device)
    return {
        "hardware": runs[0].metrics["device"],
        "versions": runs[0].metrics["versions"],
        "commit": (source_state()[0] or "")[:10],
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - started, 1),
        "epochs": specs[0].epochs,
        "seeds": sorted({spec.seed for spec in specs}),
        "runs": [
            {
                "n": run.spec.train_size or CHANGED.n,
                "noise": noise_to_json(run.spec.noise),
                "method": run.spec.method,
                "value": run.spec.hyper.get("beta", run.spec.learning_rate),
                "batch_size": run.spec.batch_size,
                "patience": run.spec.patience,
                "seed": run.spec.seed,
                "epochs_run": run.metrics["last_epoch"],
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


def main() -> None:
    """Measure the parts that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="+", choices=("labels", *OF_SIZES, *CHANGES))
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
        elif part in OF_SIZES:
            found = trained(batch_specs(part, protocol, options.seed), data, options.device)
        else:
            found = trained(changed_specs(part, protocol, options.seed), data, options.device)
        write_json(options.out, {**stored(options.out), part: found})


if __name__ == "__main__":
    main()

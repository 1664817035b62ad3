"""What was tried for cells of MNIST that are below the paper's: see docs/benchmarks/paper.md."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from noiselimit.data.examples import DataSet
from noiselimit.engine.preparation import prepare
from noiselimit.errors import unknown
from noiselimit.files import write_json
from noiselimit.noise import noise_to_json
from noiselimit.runs.spec import RunSpec
from noiselimit.training import train
from paper.protocol import Cell, make_tasks, protocol_for
from paper.rows import commit

LABEL_SEEDS, SEEDS = range(5), range(3)
BATCH_SIZES = (64, 128, 256)
"""The paper names none; 256 is that of the author's code."""
LOW = [
    *(Cell("mnist", "uniform", 0.5, 1000, method) for method in ("ce", "mae", "fw", "dmi")),
    *(Cell("mnist", "uniform", 0.8, 10_000, method) for method in ("ce", "mae")),
]
AGREEING = [Cell("mnist", "uniform", 0.8, 1000, method) for method in ("ce", "mae")]
CHANGED = Cell("mnist", "uniform", 0.89, 48_000, "limit-l")
"""The cell in which one thing is changed."""
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "patience": {"patience": 400},
    "schedule": {"schedule": "cosine"},
}
PARTS = ("labels", "batches", "controls", *CHANGES)


def specs_of(part: str, epochs: int | None) -> list[RunSpec]:
    """The runs of a part: the table's protocol with other batch sizes, or with one thing changed."""
    protocol = protocol_for("mnist", epochs=epochs)
    if part in CHANGES:
        return [replace(task.spec, **CHANGES[part]) for task in make_tasks(CHANGED, SEEDS, protocol)]
    return [
        task.spec
        for cell in (LOW if part == "batches" else AGREEING)
        for size in BATCH_SIZES
        for task in make_tasks(cell, SEEDS, replace(protocol, batch_size=size))
    ]


def right_labels(data: DataSet) -> dict[str, Any]:
    """Share of right labels in the training and validation part of each seed; nothing is trained."""
    found = []
    for task in make_tasks(CHANGED, LABEL_SEEDS, protocol_for("mnist"), {}):
        run = prepare(task.spec, data)
        right = run.examples.labels == run.examples.clean_labels
        parts = {"train": right[run.split.train], "validation": right[run.split.validation]}
        found.append({"seed": task.spec.seed, **{name: float(own.mean()) for name, own in parts.items()}})
    return {"p": CHANGED.p, "n": CHANGED.n, "classes": data.examples.classes, "seeds": found}


def measure(specs: Sequence[RunSpec], data: DataSet, device: str) -> dict[str, Any]:
    """Train; one line per run."""
    with tempfile.TemporaryDirectory() as folder:
        runs = train(specs, data, out=folder, device=device)
    lines = [
        {
            "n": run.spec.train_size or CHANGED.n,
            "noise": noise_to_json(run.spec.noise),
            "value": run.spec.hyper.get("beta", run.spec.learning_rate),
            **{name: getattr(run.spec, name) for name in ("method", "batch_size", "patience", "seed")},
            **{name: run.metrics[name] for name in ("best_epoch", "validation_accuracy", "test_accuracy")},
        }
        for run in runs
    ]
    facts = {"hardware": runs[0].metrics["device"], "versions": runs[0].metrics["versions"]}
    return {**facts, "commit": commit(), "epochs": specs[0].epochs, "seeds": list(SEEDS), "runs": lines}


def add_part(part: str, data: DataSet, out: Path, *, device: str = "auto", epochs: int | None = None) -> None:
    """Measure one of PARTS and add it to the file."""
    if part not in PARTS:
        raise unknown("part", part, PARTS)
    found = right_labels(data) if part == "labels" else measure(specs_of(part, epochs), data, device)
    older = json.loads(out.read_text("utf-8")) if out.exists() else {}
    write_json(out, {**older, part: found})

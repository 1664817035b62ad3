"""Whether the JSON files of a run folder say what a run has written; a folder may come from anybody."""

from collections.abc import Mapping, Sequence
from typing import Any

from noiselimit.data.table import Table
from noiselimit.runs.run import DataInfo
from noiselimit.spec import FLOAT32

NUMBERS = {
    "best_epoch",
    "last_epoch",
    "validation_accuracy",
    "validation_loss",
    "test_accuracy",
    "last_test_accuracy",
    "memorised_wrong_labels",
    "gap_auc",
    "train_examples",
    "validation_examples",
    "test_examples",
    "wrong_labels",
    "cohort_seconds",
}
WHOLE = {"best_epoch", "last_epoch", "train_examples", "validation_examples", "test_examples"}
LATER = {"last_gap_auc", "memorised_bits", "noise_entropy", "capacity_bits"}  # which older runs lack
OTHERS = {"status": str, "failure": str | None, "device": str, "versions": dict}
"""What tables, reports and the choice among runs read of the metrics; a run without them was altered."""


def whole_metrics(metrics: Mapping[str, Any], hyper: Mapping[str, float]) -> bool:
    """Whether everything is there, of its type, that is read of the metrics of such a run."""
    return (
        metrics.keys() >= NUMBERS | OTHERS.keys()
        and all(isinstance(metrics.get(name), int | float | None) for name in NUMBERS | LATER)
        and all(type(metrics[name]) is int and metrics[name] >= 0 for name in WHOLE)
        and all(isinstance(metrics[name], kind) for name, kind in OTHERS.items())
        and metrics["best_epoch"] <= metrics["last_epoch"]
        and metrics.get("noise_entropy_source") in (None, "noise", "predictor")
        and (metrics.get("noise_entropy") is None or metrics.get("noise_entropy_source") is not None)
        and (metrics.get("capacity_bits") is None or "sigma" in hyper)
    )


def whole_history(lines: Sequence[Any]) -> bool:
    """Whether there is a line of numbers for every epoch."""
    return all(
        isinstance(line, dict)
        and all(isinstance(value, int | float | None) for value in line.values())
        and line.get("epoch") == number
        for number, line in enumerate(lines, 1)
    )


def data_info(value: Mapping[str, Any]) -> DataInfo:
    """What data.json says; a KeyError, TypeError or ValueError where no run can have written it."""
    if not isinstance(value["class_names"], list):
        raise TypeError("class names are a list")
    info = DataInfo(
        name=str(value["name"]),
        class_names=tuple(value["class_names"]),
        input_shape=tuple(int(side) for side in value["input_shape"]),
        mean=tuple(float(number) for number in value["mean"]),
        std=tuple(float(number) for number in value["std"]),
        highest=float(value["highest"]),
        table=Table.from_json(value["table"]) if "table" in value else None,
        notes=tuple(str(note) for note in value.get("notes", ())),
        resize=int(value["resize"]) if "resize" in value else None,
    )
    if not all(isinstance(name, str) and name for name in info.class_names):
        raise TypeError("class names are texts")
    if len(info.input_shape) not in (1, 3) or min(info.input_shape) < 1:
        raise ValueError("inputs are vectors or pictures")
    features = info.table.features if info.table else info.input_shape[0]
    if (
        len(set(info.class_names)) != len(info.class_names)
        or len(info.class_names) < 2
        or not len(info.mean) == len(info.std) == info.input_shape[0] == features
        or not all(0 < std < FLOAT32 for std in info.std)
        or not all(abs(number) < FLOAT32 for number in (*info.mean, info.highest))
        or (info.resize is not None and info.resize < max(info.input_shape[1:], default=0))
    ):
        raise ValueError("classes, inputs or their scale are not possible")
    return info

"""A run as a folder: written whole or not at all, and read without executing anything.

spec.json            what was trained (RunSpec)
data.json            what the networks expect of inputs: shape, class names, standardisation, table
history.jsonl        one line per epoch
metrics.json         the outcome
weights.safetensors  best-epoch weights, names prefixed by classifier. and predictor.
outputs.parquet      one row per example
averaged.safetensors mean probabilities over the second half of the epochs, where they were asked for
"""

import dataclasses
import errno
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.parquet
import safetensors
import safetensors.torch
from torch import Tensor

from noiselimit.data.table import Table
from noiselimit.errors import InputError
from noiselimit.files import atomic_folder, json_text
from noiselimit.runs.averaged import write_averaged
from noiselimit.runs.run import DataInfo, Run, RunContents, Weights
from noiselimit.spec import RunSpec

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
OTHERS = {"status": str, "failure": str | None, "device": str, "versions": dict}
"""What tables, reports and the choice among runs read of the metrics; a run without them was altered."""


def write_run(run: Run, out: Path) -> Run:
    """Write the run into its folder below `out`; the returned run reads its large contents from there."""
    folder = out / run.spec.folder_name
    try:
        with atomic_folder(folder) as temporary:
            (temporary / "spec.json").write_text(json_text(run.spec.to_json()), "utf-8")
            (temporary / "data.json").write_text(json_text(run.data.to_json()), "utf-8")
            (temporary / "metrics.json").write_text(json_text(dict(run.metrics)), "utf-8")
            lines = (json.dumps(dict(record), allow_nan=False) for record in run.history)
            (temporary / "history.jsonl").write_text("".join(line + "\n" for line in lines), "utf-8")
            if run.in_memory is not None:
                _write_contents(temporary, run.in_memory)
    except OSError as error:
        if not folder.is_dir():  # else another process finished the same run first, with the same result
            reason = error.strerror or error
            raise InputError(
                f"cannot write {folder} ({reason}): free space or choose another folder."
            ) from None
    return dataclasses.replace(run, path=folder, in_memory=None)


def load_run(path: str | Path, *, trusted: bool = False) -> Run:
    """The run in that folder; its weights and outputs are read when used.

    Nothing in the folder is executed. A network that the spec names by dotted path is code of somebody's:
    it is imported only when the model is asked for, and only if you say that the folder is `trusted`.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"there is no run folder {folder}: give a folder that 'noiselimit train' wrote.")
    spec = RunSpec.from_json(_read_object(folder / "spec.json"), str(folder / "spec.json"))
    history = _read_lines(folder / "history.jsonl")
    metrics = _read_object(folder / "metrics.json")
    if not metrics.keys() >= NUMBERS | OTHERS.keys() or not (
        all(isinstance(metrics[name], int | float | None) for name in NUMBERS)
        and all(isinstance(metrics[name], kind) for name, kind in OTHERS.items())
    ):
        raise _altered(folder / "metrics.json")
    if len(history) != metrics["last_epoch"]:
        raise _altered(folder / "history.jsonl")
    for name in ("weights.safetensors", "outputs.parquet"):
        if metrics["best_epoch"] and not (folder / name).is_file():
            raise _altered(folder / name)
    return Run(spec, _data_info(folder / "data.json"), history, metrics, path=folder, trusted=trusted)


def read_weights(folder: Path) -> Weights:
    """The best-epoch weights of the run in that folder."""
    path = folder / "weights.safetensors"
    try:
        tensors = safetensors.torch.load_file(path)
    except (OSError, safetensors.SafetensorError) as error:
        raise _unreadable(path, error) from None
    networks: dict[str, dict[str, Any]] = {"classifier": {}, "predictor": {}}
    for name, tensor in tensors.items():
        network, _, rest = name.partition(".")
        if network not in networks:
            raise _altered(path)
        networks[network][rest] = tensor
    return Weights(networks["classifier"], networks["predictor"] or None)


def read_outputs(folder: Path) -> pd.DataFrame:
    """The per-example outputs of the run in that folder."""
    path = folder / "outputs.parquet"
    try:
        return pd.read_parquet(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise _unreadable(path, error) from None


def _write_contents(folder: Path, contents: RunContents) -> None:
    weights = {"classifier": contents.weights.classifier, "predictor": contents.weights.predictor or {}}
    tensors = {
        f"{network}.{name}": tensor.contiguous()
        for network, state in weights.items()
        for name, tensor in state.items()
    }
    save_tensors(tensors, folder / "weights.safetensors")
    contents.outputs.to_parquet(folder / "outputs.parquet", index=False)
    if contents.averaged is not None:
        write_averaged(folder, contents.averaged)


def save_tensors(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file; what the disk refuses is an OSError, as with any other file."""
    try:
        safetensors.torch.save_file(tensors, path, metadata)
    except safetensors.SafetensorError as error:
        raise OSError(errno.EIO, str(error).strip(), str(path)) from None


def _read_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"{path.parent} is not a run folder: it has no {path.name}; "
            "give a folder that 'noiselimit train' wrote."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, error) from None
    if not isinstance(value, dict):
        raise _altered(path)
    return value


def _read_lines(path: Path) -> list[dict[str, Any]]:
    try:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, error) from None
    if not all(isinstance(line, dict) for line in lines):
        raise _altered(path)
    return lines


def _data_info(path: Path) -> DataInfo:
    value = _read_object(path)
    try:
        info = DataInfo(
            name=str(value["name"]),
            class_names=tuple(str(name) for name in value["class_names"]),
            input_shape=tuple(int(side) for side in value["input_shape"]),
            mean=tuple(float(number) for number in value["mean"]),
            std=tuple(float(number) for number in value["std"]),
            highest=float(value["highest"]),
            table=Table.from_json(value["table"]) if "table" in value else None,
            notes=tuple(str(note) for note in value.get("notes", ())),
            resize=int(value["resize"]) if "resize" in value else None,
        )
    except (KeyError, TypeError, ValueError):
        raise _altered(path) from None
    features = info.table.features if info.table else info.input_shape[0]
    if not len(info.mean) == len(info.std) == info.input_shape[0] == features:
        raise _altered(path)
    if info.resize is not None and info.resize < max(info.input_shape[1:], default=0):
        raise _altered(path)
    return info


def _unreadable(path: Path, error: Exception) -> InputError:
    if isinstance(error, PermissionError):
        return InputError(f"{path} cannot be read (permission denied): ask its owner for access.")
    return _altered(path)


def _altered(path: Path) -> InputError:
    return InputError(
        f"{path} cannot be read: it is missing, damaged or altered, so delete the folder and "
        "train the run again."
    )

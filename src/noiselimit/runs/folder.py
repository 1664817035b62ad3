"""A run as a folder: written whole or not at all, and read without executing anything.

spec.json            what was trained (RunSpec)
data.json            what the networks expect of inputs: shape, class names, standardisation
history.jsonl        one line per epoch
metrics.json         the outcome
weights.safetensors  best-epoch weights, names prefixed by classifier. and predictor.
outputs.parquet      one row per example
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.parquet
import safetensors
import safetensors.torch

from noiselimit.errors import InputError
from noiselimit.files import atomic_folder
from noiselimit.runs.run import DataInfo, Run, RunContents
from noiselimit.spec import RunSpec

TABLE_METRICS = {
    "status",
    "failure",
    "best_epoch",
    "last_epoch",
    "validation_accuracy",
    "validation_loss",
    "test_accuracy",
    "last_test_accuracy",
    "memorised_wrong_labels",
    "gap_auc",
}
"""What tables of runs, the choice among them and `load_run` read; a run without them was altered."""


def write_run(run: Run, out: Path) -> Run:
    """Write the run into its folder below `out`; the returned run reads its large contents from there."""
    folder = out / run.spec.folder_name
    try:
        with atomic_folder(folder) as temporary:
            _write_json(temporary / "spec.json", run.spec.to_json())
            _write_json(temporary / "data.json", run.data.to_json())
            _write_json(temporary / "metrics.json", dict(run.metrics))
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


def load_run(path: str | Path) -> Run:
    """The run in that folder. Nothing in the folder is executed; weights and outputs are read when used."""
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"there is no run folder {folder}: give a folder that 'noiselimit train' wrote.")
    spec = RunSpec.from_json(_read_object(folder / "spec.json"), str(folder / "spec.json"))
    history = _read_lines(folder / "history.jsonl")
    metrics = _read_object(folder / "metrics.json")
    if not metrics.keys() >= TABLE_METRICS:
        raise _altered(folder / "metrics.json")
    if len(history) != metrics["last_epoch"]:
        raise _altered(folder / "history.jsonl")
    return Run(spec, _data_info(folder / "data.json"), history, metrics, path=folder)


def read_contents(folder: Path) -> RunContents:
    """The weights and the per-example outputs of the run in that folder."""
    weights, outputs = folder / "weights.safetensors", folder / "outputs.parquet"
    try:
        tensors = safetensors.torch.load_file(weights)
    except (OSError, safetensors.SafetensorError):
        raise _altered(weights) from None
    try:
        table = pd.read_parquet(outputs)
    except (OSError, pyarrow.ArrowException):
        raise _altered(outputs) from None
    networks: dict[str, dict[str, Any]] = {"classifier": {}, "predictor": {}}
    for name, tensor in tensors.items():
        network, _, rest = name.partition(".")
        if network not in networks:
            raise _altered(weights)
        networks[network][rest] = tensor
    return RunContents(networks["classifier"], networks["predictor"] or None, table)


def _write_contents(folder: Path, contents: RunContents) -> None:
    tensors = {f"classifier.{name}": tensor.contiguous() for name, tensor in contents.classifier.items()}
    for name, tensor in (contents.predictor or {}).items():
        tensors[f"predictor.{name}"] = tensor.contiguous()
    safetensors.torch.save_file(tensors, folder / "weights.safetensors")
    contents.outputs.to_parquet(folder / "outputs.parquet", index=False)


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False) + "\n", "utf-8")


def _read_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"{path.parent} is not a run folder: it has no {path.name}; "
            "give a folder that 'noiselimit train' wrote."
        ) from None
    except (OSError, ValueError, RecursionError):
        raise _altered(path) from None
    if not isinstance(value, dict):
        raise _altered(path)
    return value


def _read_lines(path: Path) -> list[dict[str, Any]]:
    try:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    except (OSError, ValueError, RecursionError):
        raise _altered(path) from None
    if not all(isinstance(line, dict) for line in lines):
        raise _altered(path)
    return lines


def _data_info(path: Path) -> DataInfo:
    value = _read_object(path)
    try:
        return DataInfo(
            name=str(value["name"]),
            class_names=tuple(str(name) for name in value["class_names"]),
            input_shape=tuple(int(side) for side in value["input_shape"]),
            mean=tuple(float(number) for number in value["mean"]),
            std=tuple(float(number) for number in value["std"]),
        )
    except (KeyError, TypeError, ValueError):
        raise _altered(path) from None


def _altered(path: Path) -> InputError:
    return InputError(
        f"{path} cannot be read: it is missing, damaged or altered, so delete the folder and "
        "train the run again."
    )

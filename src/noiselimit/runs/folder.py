"""The classifier alone, for use without noiselimit."""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import safetensors
import safetensors.torch
from torch import Tensor

from noiselimit.data.table_file import read_parquet
from noiselimit.data.tables import Table
from noiselimit.errors import InputError
from noiselimit.files import (
    atomic_file,
    atomic_folder,
    finite_json,
    json_text,
    name_for_libraries,
    read_small_text,
    require_regular,
)
from noiselimit.networks.module import canonical, is_dotted
from noiselimit.networks.network import without_draws
from noiselimit.runs.result import BAD_TENSORS, write_averaged
from noiselimit.runs.run import DataInfo, Run, RunContents, Weights
from noiselimit.runs.spec import FLOAT32, RunSpec

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


LABELS = ("given_label", "clean_label", "predicted_label", "suggested_label")
SCORES = ("predicted_probability", "gap", "label_quality", "suggested_probability")
PARTS = {"train", "validation", "test"}


def checked_outputs(content: pyarrow.Table, classes: int) -> pd.DataFrame | None:
    """The table as it was written; None where a run on so many classes cannot have written it."""
    names = content.column_names
    wanted = {"index", "part", *LABELS, *SCORES}
    if not wanted <= set(names) <= wanted | {"name"} or len(set(names)) < len(names):
        return None
    numbers = dict.fromkeys(("index", *LABELS), pyarrow.types.is_integer)
    numbers |= dict.fromkeys(SCORES, pyarrow.types.is_floating)
    texts = {name for name in ("part", "name") if name in names}
    if not all(test(content.schema.field(name).type) for name, test in numbers.items()) or not all(
        pyarrow.types.is_string(content.schema.field(name).type)
        or pyarrow.types.is_large_string(content.schema.field(name).type)
        for name in texts
    ):
        return None
    if any(content[name].null_count for name in names if name != "clean_label"):
        return None
    for name in ("index", *LABELS):  # an error where they are too large
        content = content.set_column(names.index(name), name, content[name].cast(pyarrow.int64()))
    frame: pd.DataFrame = content.drop_columns(["clean_label"]).to_pandas(ignore_metadata=True)
    clean = pd.array(content["clean_label"].to_pandas(), dtype="Int64")
    frame.insert(names.index("clean_label"), "clean_label", clean)
    index = frame["index"].to_numpy(np.int64)
    labels = [frame[name].dropna().to_numpy(np.int64) for name in LABELS]
    ordered = len(index) > 0 and (np.diff(index, prepend=-1) > 0).all()
    known = all(((column >= -1) & (column < classes)).all() for column in labels)
    finite = all(np.isfinite(frame[name]).all() for name in SCORES)
    return frame if ordered and known and finite and set(frame["part"]) <= PARTS else None


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


def load_run(
    path: str | Path,
    *,
    trusted: bool = False,
    factory: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
) -> Run:
    """The run in that folder; its weights and outputs are read when used.

    Nothing in the folder is executed. A network that the spec names by dotted path is code of somebody's:
    it is imported only when the model is asked for, and only if you say that the folder is `trusted`. Or give
    the `factory` that stands for it (a mapping from dotted paths where there are several), and none is.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"there is no run folder {folder}: give a folder that 'noiselimit train' wrote.")
    spec = RunSpec.from_json(_read_object(folder / "spec.json"), str(folder / "spec.json"))
    history = _read_lines(folder / "history.jsonl")
    metrics = _read_object(folder / "metrics.json")
    if not whole_metrics(metrics, spec.hyper):
        raise _altered(folder / "metrics.json")
    if len(history) != metrics["last_epoch"]:
        raise _altered(folder / "history.jsonl")
    for name in ("weights.safetensors", "outputs.parquet"):
        if metrics["best_epoch"] and not (folder / name).is_file():
            raise _altered(folder / name)
    data = _data_info(folder / "data.json")
    factories = _factories(spec, factory, folder)
    return Run(spec, data, history, metrics, path=folder, trusted=trusted, factories=factories)


def _factories(spec: RunSpec, given: Any, folder: Path) -> dict[str, Callable[..., Any]]:
    """Dotted path → factory, for the paths in the spec that one is given for."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {canonical(path): factory for path, factory in given.items()}
    names = (spec.network, spec.predictor_network, spec.predictor_features)
    paths = sorted({name for name in names if name is not None and is_dotted(name)})
    if len(paths) > 1:
        raise InputError(
            f"run {folder} needs the code at {' and '.join(paths)}: give factory={{path: factory, …}}."
        )
    return dict.fromkeys(paths, given)


def read_weights(folder: Path) -> Weights:
    """The best-epoch weights of the run in that folder."""
    path = folder / "weights.safetensors"
    try:
        require_regular(path)
        with name_for_libraries(path) as known:
            tensors = safetensors.torch.load_file(known)
    except (OSError, *BAD_TENSORS) as error:
        raise _unreadable(path, error) from None
    networks: dict[str, dict[str, Any]] = {"classifier": {}, "predictor": {}}
    for name, tensor in tensors.items():
        network, _, rest = name.partition(".")
        if network not in networks or not tensor.isfinite().all():
            raise _altered(path)
        networks[network][rest] = tensor
    return Weights(networks["classifier"], networks["predictor"] or None)


def read_outputs(folder: Path, classes: int) -> pd.DataFrame:
    """The per-example outputs of the run in that folder, whose data have so many classes."""
    path = folder / "outputs.parquet"
    try:
        frame = checked_outputs(read_parquet(path), classes)
    except (pyarrow.ArrowException, ValueError, TypeError) as error:
        raise _unreadable(path, error) from None
    if frame is None:
        raise _altered(path)
    return frame


def _write_contents(folder: Path, contents: RunContents) -> None:
    weights = {"classifier": contents.weights.classifier, "predictor": contents.weights.predictor or {}}
    tensors = {
        f"{network}.{name}": tensor.contiguous()
        for network, state in weights.items()
        for name, tensor in state.items()
    }
    save_tensors(tensors, folder / "weights.safetensors")
    with name_for_libraries(folder / "outputs.parquet", create=True) as known:
        contents.outputs.to_parquet(known, index=False)
    if contents.averaged is not None:
        write_averaged(folder, contents.averaged)


def save_tensors(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file; what the disk refuses is an OSError, as with any other file."""
    path.write_bytes(safetensors.torch.save(tensors, metadata))


def _read_object(path: Path) -> dict[str, Any]:
    try:
        value = finite_json(read_small_text(path))
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
        lines = [finite_json(line) for line in read_small_text(path).splitlines()]
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, error) from None
    if not whole_history(lines):
        raise _altered(path)
    return lines


def _data_info(path: Path) -> DataInfo:
    try:
        return data_info(_read_object(path))
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        raise _altered(path) from None


def _unreadable(path: Path, error: Exception) -> InputError:
    if isinstance(error, PermissionError):
        return InputError(f"{path} cannot be read (permission denied): ask its owner for access.")
    return _altered(path)


def _altered(path: Path) -> InputError:
    return InputError(
        f"{path} cannot be read: it is missing, damaged or altered, so delete the folder and "
        "train the run again."
    )


def export_classifier(run: Run, path: Path) -> None:
    """Write an ordinary state dict; the metadata name the network, the classes and the input scaling."""
    tensors = {name: tensor.contiguous() for name, tensor in without_draws(run.weights.classifier).items()}
    facts = {"network": run.spec.network, **run.data.to_json()}
    metadata = {name: value if isinstance(value, str) else json.dumps(value) for name, value in facts.items()}
    with atomic_file(path) as temporary:
        save_tensors(tensors, temporary, metadata)

"""A run's folder: written as a whole, and checked when it is read. Nothing in it is executed."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import safetensors
import safetensors.numpy
import safetensors.torch
from torch import Tensor

from noiselimit.data.table_file import read_parquet
from noiselimit.errors import InputError
from noiselimit.files import (
    atomic_file,
    atomic_folder,
    finite_json,
    json_text,
    read_small_text,
    require_regular,
)
from noiselimit.networks.module import canonical, is_dotted
from noiselimit.networks.network import without_draws
from noiselimit.runs.run import Averaged, DataInfo, Run, RunContents, Weights
from noiselimit.runs.spec import RunSpec

AVERAGED = "averaged.safetensors"
COUNTS = ("best_epoch", "last_epoch", "train_examples", "validation_examples", "test_examples")
ACCURACIES = ("validation_accuracy", "validation_loss", "test_accuracy", "last_test_accuracy")
OTHERS = ("memorised_wrong_labels", "gap_auc", "wrong_labels", "cohort_seconds")
METRICS: dict[str, Any] = {
    **dict.fromkeys(COUNTS, int),
    **dict.fromkeys((*ACCURACIES, *OTHERS), int | float | None),
    "status": str,
    "failure": str | None,
    "device": str,
    "versions": dict,
}
"""Metrics that every run has."""
LATER_METRICS = ("last_gap_auc", "memorised_bits", "noise_entropy", "capacity_bits")
"""Metrics that older runs lack."""
LABELS = ["given_label", "clean_label", "predicted_label", "suggested_label"]
SCORES = ["predicted_probability", "gap", "label_quality", "suggested_probability"]
PARTS = ("train", "validation", "test")
BAD_CONTENT = (
    *(OSError, safetensors.SafetensorError, RuntimeError, ArithmeticError),
    *(KeyError, ValueError, TypeError, AttributeError),
)
"""What parsing a damaged or altered file may raise."""


def write_run(run: Run, out: Path) -> Run:
    """Write the run's folder below `out`; the returned run reads its large parts from there."""
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
        reason = error.strerror or error
        raise InputError(f"cannot write {folder} ({reason}): free space or choose another folder.") from None
    return dataclasses.replace(run, path=folder, in_memory=None)


def _write_contents(folder: Path, contents: RunContents) -> None:
    weights = {"classifier": contents.weights.classifier, "predictor": contents.weights.predictor or {}}
    tensors = {
        f"{network}.{name}": tensor.contiguous()
        for network, state in weights.items()
        for name, tensor in state.items()
    }
    _save_tensors(tensors, folder / "weights.safetensors")
    contents.outputs.to_parquet(folder / "outputs.parquet", index=False)
    if contents.averaged is not None:
        arrays = {name: array for name, array in vars(contents.averaged).items() if array is not None}
        (folder / AVERAGED).write_bytes(safetensors.numpy.save(arrays))


def _save_tensors(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    path.write_bytes(safetensors.torch.save(tensors, metadata))  # unlike save_file, raises an OSError


def load_run(
    path: str | Path,
    *,
    trusted: bool = False,
    factory: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
) -> Run:
    """Load a run from its folder; weights and outputs are read when used.

    Parameters
    ----------
    path : the run's folder.
    trusted : whether a network that the spec names by dotted path may be imported, when the model is needed.
    factory : the factory to use instead; a mapping from dotted paths if there are several.

    Returns
    -------
    Run
    """
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"there is no run folder {folder}: give a folder that 'noiselimit train' wrote.")
    spec = RunSpec.from_json(_read_object(folder / "spec.json"), str(folder / "spec.json"))
    metrics = _read_object(folder / "metrics.json")
    if not _are_metrics(metrics, spec):
        raise _damaged(folder / "metrics.json")
    history = _read_history(folder / "history.jsonl", metrics["last_epoch"])
    for name in ("weights.safetensors", "outputs.parquet"):
        if metrics["best_epoch"] and not (folder / name).is_file():
            raise _damaged(folder / name)
    try:
        data = DataInfo.from_json(_read_object(folder / "data.json"))
    except InputError:
        raise
    except BAD_CONTENT:
        raise _damaged(folder / "data.json") from None
    factories = _factories(spec, factory, folder)
    return Run(spec, data, history, metrics, path=folder, trusted=trusted, factories=factories)


def _factories(spec: RunSpec, given: Any, folder: Path) -> dict[str, Callable[..., Any]]:
    """Dotted path → factory, for the paths in the spec."""
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


def _read_object(path: Path) -> dict[str, Any]:
    try:
        value = finite_json(read_small_text(path))
    except FileNotFoundError:
        raise InputError(
            f"{path.parent} is not a run folder: it has no {path.name}; "
            "give a folder that 'noiselimit train' wrote."
        ) from None
    except BAD_CONTENT as error:
        raise _damaged(path, error) from None
    if not isinstance(value, dict):
        raise _damaged(path)
    return value


def _are_metrics(metrics: Mapping[str, Any], spec: RunSpec) -> bool:
    """Whether everything that reports and tables read is there and has its type."""
    return (
        metrics.keys() >= METRICS.keys()
        and all(isinstance(metrics[name], kind) for name, kind in METRICS.items())
        and all(isinstance(metrics.get(name), int | float | None) for name in LATER_METRICS)
        and 0 <= metrics["best_epoch"] <= metrics["last_epoch"]
        and metrics.get("noise_entropy_source") in (None, "noise", "predictor")
        and (metrics.get("noise_entropy") is None or metrics.get("noise_entropy_source") is not None)
        and (metrics.get("capacity_bits") is None or "sigma" in spec.hyper)
    )


def _read_history(path: Path, epochs: int) -> list[dict[str, Any]]:
    try:
        history = [finite_json(line) for line in read_small_text(path).splitlines()]
        valid = all(isinstance(value, int | float | None) for line in history for value in line.values())
        if not valid or [line["epoch"] for line in history] != list(range(1, epochs + 1)):
            raise ValueError("epochs are missing, or values are not numbers")
    except BAD_CONTENT as error:
        raise _damaged(path, error) from None
    return history


def read_weights(folder: Path) -> Weights:
    """Read the best-epoch weights of a run."""
    path = folder / "weights.safetensors"
    networks: dict[str, dict[str, Any]] = {"classifier": {}, "predictor": {}}
    try:
        require_regular(path)
        for name, tensor in safetensors.torch.load_file(path).items():
            network, _, rest = name.partition(".")
            if not tensor.isfinite().all():
                raise ValueError("a weight is not finite")
            networks[network][rest] = tensor
    except BAD_CONTENT as error:
        raise _damaged(path, error) from None
    return Weights(networks["classifier"], networks["predictor"] or None)


def read_outputs(folder: Path, classes: int) -> pd.DataFrame:
    """Read the per-example outputs of a run."""
    path = folder / "outputs.parquet"
    try:
        content = read_parquet(path)
        frame: pd.DataFrame = content.drop_columns(["clean_label"]).to_pandas(ignore_metadata=True)
        clean = pd.array(content["clean_label"].to_pandas(), dtype="Int64")
        frame.insert(content.column_names.index("clean_label"), "clean_label", clean)
        index, labels = (
            frame["index"].to_numpy(np.int64),
            frame[LABELS].astype("Int64").fillna(-1).to_numpy(np.int64),
        )
        if not (
            set(frame.columns) - {"name"} == {"index", "part", *LABELS, *SCORES}
            and len(index)
            and (np.diff(index, prepend=-1) > 0).all()
            and labels.min() >= -1
            and labels.max() < classes
            and np.isfinite(frame[SCORES].to_numpy(np.float64)).all()
            and frame["part"].isin(PARTS).all()
        ):
            raise ValueError("not the outputs of a run")
    except BAD_CONTENT as error:
        raise _damaged(path, error) from None
    return frame


def read_averaged(folder: Path) -> Averaged | None:
    """Read the averaged probabilities of a run; None if it has none."""
    path = folder / AVERAGED
    if not path.exists():
        return None
    try:
        require_regular(path)
        arrays = safetensors.numpy.load_file(path)
        averaged = Averaged(arrays["index"], arrays["classifier"], arrays.get("predictor"))
        tables = [table for table in (averaged.classifier, averaged.predictor) if table is not None]
        if averaged.index.dtype != np.int64 or (np.diff(averaged.index, prepend=-1) <= 0).any():
            raise ValueError("positions are not ascending")
        for table in tables:
            rows, _ = table.shape
            same = table.shape == tables[0].shape and rows == len(averaged.index)
            if not same or table.dtype != np.float32 or not np.isfinite(table).all():
                raise ValueError("not a table of probabilities")
    except BAD_CONTENT as error:
        raise _damaged(path, error) from None
    return averaged


def _damaged(path: Path, error: Exception | None = None) -> InputError:
    if isinstance(error, PermissionError):
        return InputError(f"{path} cannot be read (permission denied): ask its owner for access.")
    return InputError(
        f"{path} cannot be read: it is missing, damaged or altered, so delete the folder and "
        "train the run again."
    )


def export_classifier(run: Run, path: Path) -> None:
    """Write the classifier as a safetensors state dict; metadata name network, classes and input scaling."""
    tensors = {name: tensor.contiguous() for name, tensor in without_draws(run.weights.classifier).items()}
    facts = {"network": run.spec.network, **run.data.to_json()}
    metadata = {name: value if isinstance(value, str) else json.dumps(value) for name, value in facts.items()}
    with atomic_file(path) as temporary:
        _save_tensors(tensors, temporary, metadata)

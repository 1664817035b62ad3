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
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import safetensors
import safetensors.torch
from torch import Tensor

from noiselimit.data.parquet import DAMAGED, read_parquet
from noiselimit.errors import InputError
from noiselimit.files import atomic_folder, json_text
from noiselimit.finite import finite_json
from noiselimit.networks.dotted import canonical, is_dotted
from noiselimit.opening import name_for_libraries, read_small_text, require_regular
from noiselimit.runs.averaged import BAD_TENSORS, write_averaged
from noiselimit.runs.outputs import checked_outputs
from noiselimit.runs.run import DataInfo, Run, RunContents, Weights
from noiselimit.runs.told import data_info, whole_history, whole_metrics
from noiselimit.spec import RunSpec


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
    except DAMAGED as error:  # the sentences of an InputError, which is among them, are of no help here
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

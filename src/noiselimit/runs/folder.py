"""A run's folder: written as a whole, and checked when it is read. Nothing in it is executed."""

import dataclasses
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import safetensors
import safetensors.numpy
import safetensors.torch
from torch import Tensor

from noiselimit.data.table_file import read_parquet
from noiselimit.dotted import canonical
from noiselimit.errors import InputError, Notice
from noiselimit.files import (
    atomic_file,
    atomic_folder,
    finite_json,
    json_text,
    read_small_text,
    require_regular,
)
from noiselimit.networks.network import without_draws
from noiselimit.runs.known import not_known
from noiselimit.runs.run import Averaged, DataInfo, Run, RunContents, Weights, choose
from noiselimit.runs.spec import RunSpec, problem

AVERAGED, TABLE = "averaged.safetensors", "table.safetensors"
RUNS = "runs"
"""Folder inside an audit with the runs that it averaged."""
METRICS = {
    *("best_epoch", "last_epoch", "train_examples", "validation_examples", "test_examples"),
    *("validation_accuracy", "validation_loss", "test_accuracy", "last_test_accuracy"),
    *("memorised_wrong_labels", "gap_auc", "wrong_labels", "cohort_seconds"),
    *("status", "failure", "device", "versions"),
}
"""Metrics that every run has; the page on run folders lists more that older runs lack."""
COLUMNS = {
    *("index", "part", "given_label", "clean_label", "predicted_label", "suggested_label"),
    *("predicted_probability", "gap", "label_quality", "suggested_probability"),
}
"""Columns that the outputs of every run have."""


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
            arrays = {} if run.data.table is None else run.data.table.arrays()
            if arrays:
                (temporary / TABLE).write_bytes(safetensors.numpy.save(arrays))
            if run.in_memory is not None:
                _write_contents(temporary, run.in_memory)
    except OSError as error:
        reason = error.strerror or error
        if not (folder / "spec.json").exists():  # on a cluster, a machine that seemed dead may write it too
            raise InputError(
                f"cannot write {folder} ({reason}): free space or choose another folder."
            ) from None
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
        _write_arrays(folder / AVERAGED, arrays)


def _write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write a safetensors file without a copy of the arrays, which may fill half of the memory."""
    header, start = {}, 0
    for name, array in arrays.items():
        kind = f"{array.dtype.kind.upper()}{8 * array.dtype.itemsize}"
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [start, start + array.nbytes]}
        start += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).data)


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
    path : path
        The run's folder.
    trusted : bool
        Whether what the spec names by dotted path may be imported; a network when the model is needed.
    factory : function or mapping, optional
        The factory to use instead; a mapping from names if there are several.

    Returns
    -------
    Run
        Of a method, noise or network that is not known here, there are a Notice, the history and the metrics.
    """
    folder = Path(path)
    if not (folder / "spec.json").exists():
        raise _not_a_run(folder)
    content = _read_json(folder / "spec.json")
    spec = RunSpec.from_json(content, str(folder / "spec.json"), trusted=trusted)
    metrics = _read_json(folder / "metrics.json", METRICS)
    with _reading(folder / "history.jsonl") as file:
        history = [finite_json(line) for line in read_small_text(file).splitlines()]
        if [line["epoch"] for line in history] != list(range(1, metrics["last_epoch"] + 1)):
            raise ValueError("epochs are missing")
    for name in ("weights.safetensors", "outputs.parquet") if metrics["best_epoch"] else ():
        with _reading(folder / name) as file:
            require_regular(file)
    data = _read_json(folder / "data.json")
    with _reading(folder / "data.json"):
        info = DataInfo.from_json(data)
    if info.table is not None:
        table = info.table.with_arrays(_read_arrays(folder / TABLE), trusted=trusted)
        info = dataclasses.replace(info, table=table)
    factories = _factories(spec, factory, folder)
    for message in () if factories else not_known(spec):
        warnings.warn(Notice(f"{folder}: {message}"), stacklevel=2)
    return Run(spec, info, history, metrics, path=folder, trusted=trusted, factories=factories)


def find_runs(out: Path | None, specs: Iterable[RunSpec]) -> dict[str, Run]:
    """Load those of the specs' runs that have a folder in `out`, by hash."""
    found = {}
    for spec in specs:
        place = None if out is None else out / spec.folder_name
        if place is None or not place.exists():
            continue
        if not (place / "spec.json").exists():
            raise InputError(f"{place} has the name of this run but is not a run folder: delete it.")
        different = InputError(f"{place} holds a different run: delete it.")
        content, own = _read_json(place / "spec.json"), spec.to_json()
        if any(content.get(name) != own[name] for name in ("method", "noise", "transition")):
            raise different  # before the code that it names is imported
        run = load_run(place, trusted=True)  # the caller's own spec names the same code
        if run.spec != spec:
            raise different
        found[spec.hash] = run
    return found


def find_run_folders(path: Path) -> list[Path]:
    """The run folders in a folder or an audit, or the folder itself; beta 3 comes before beta 10."""
    place = path / RUNS if (path / RUNS).is_dir() else path
    inside = sorted((spec.parent for spec in place.glob("[!.]*/spec.json")), key=_by_numbers)
    return inside if inside and not (path / "spec.json").exists() else [path]


def _by_numbers(folder: Path) -> list[str | float]:
    parts = re.split(r"(\d+(?:\.\d+)?)", folder.name)  # text and numbers in turn
    return [float(part) if place % 2 else part for place, part in enumerate(parts)]


def load_chosen(path: str | Path, *, trusted: bool = False) -> list[Run]:
    """Load the runs to predict with: a single run, all runs of an audit, or the chosen ones of a folder."""
    folder = Path(path)
    places = find_run_folders(folder)
    runs = [load_run(place, trusted=trusted) for place in places]
    if places == [folder] or (folder / RUNS).is_dir():
        return runs
    chosen = [run for run, is_chosen in zip(runs, choose(runs), strict=True) if is_chosen]
    if len({problem(run.spec).key for run in chosen}) > 1:
        names = f"such as {places[0]}"
        raise InputError(f"{folder} holds runs on several data sets or noises: name one of them, {names}.")
    if not chosen:
        raise InputError(f"all runs in {folder} failed: train again.")
    return chosen


def _not_a_run(folder: Path) -> InputError:
    if not folder.exists():
        return InputError(f"{folder} does not exist: give a run folder.")
    if inside := sorted(folder.glob("[!.]*/spec.json")):
        return InputError(f"{folder} is a folder of runs: name one of them, such as {inside[0].parent}.")
    if (folder / ".command.json").exists():  # the command line writes it while it trains
        remedy = f"continue it with noiselimit train --resume {folder}"
        return InputError(f"{folder} holds an unfinished training: {remedy}")
    return InputError(f"{folder} is not a run folder: it has no spec.json; give one that train wrote.")


@contextmanager
def _reading(path: Path) -> Iterator[Path]:
    """Turn what a missing, damaged or altered file raises into one sentence."""
    try:
        yield path
    except PermissionError:
        raise
    except (
        *(OSError, safetensors.SafetensorError, RuntimeError, ArithmeticError),
        *(LookupError, ValueError, TypeError, AttributeError),
    ):
        raise InputError(
            f"{path} is missing, damaged or altered: delete its folder and train the run again."
        ) from None


def _read_json(path: Path, names: Set[str] = frozenset()) -> dict[str, Any]:
    """Read a JSON object that has at least these names."""
    with _reading(path):
        value = dict(finite_json(read_small_text(path)))
        if not value.keys() >= names:
            raise ValueError("values are missing")
    return value


def _factories(spec: RunSpec, given: Any, folder: Path) -> dict[str, Callable[..., Any]]:
    """Dotted path → factory, for the paths in the spec."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {canonical(path): factory for path, factory in given.items()}
    paths = spec.code_paths
    if len(paths) > 1:
        raise InputError(
            f"run {folder} needs the code at {' and '.join(paths)}: give factory={{path: factory, …}}."
        )
    return dict.fromkeys(paths, given)


def read_weights(folder: Path) -> Weights:
    """Read the best-epoch weights of a run."""
    networks: dict[str, dict[str, Tensor]] = {"classifier": {}, "predictor": {}}
    with _reading(folder / "weights.safetensors") as path:
        for name, tensor in safetensors.torch.load_file(path).items():
            network, _, rest = name.partition(".")
            if not tensor.isfinite().all():
                raise ValueError("a weight is not finite")
            networks[network][rest] = tensor
    return Weights(networks["classifier"], networks["predictor"] or None)


def _read_arrays(path: Path) -> dict[str, Any]:
    """Arrays of a safetensors file; none if it is not there."""
    if not path.exists():
        return {}
    with _reading(path):
        return dict(safetensors.numpy.load_file(path))


def read_outputs(folder: Path) -> pd.DataFrame:
    """Read the per-example outputs of a run."""
    with _reading(folder / "outputs.parquet") as path:
        frame: pd.DataFrame = read_parquet(path).to_pandas(ignore_metadata=True)
        kinds: Any = {"f": "Float64", "i": "Int64"}
        kind = kinds.get(frame["given_label"].dtype.kind, "string")
        frame["clean_label"] = frame["clean_label"].astype(kind)
        if not set(frame.columns) >= COLUMNS:
            raise ValueError("columns are missing")
    return frame


def read_averaged(folder: Path) -> Averaged | None:
    """Read the averaged probabilities of a run; None if it has none."""
    if not (folder / AVERAGED).exists():
        return None
    with _reading(folder / AVERAGED) as path:
        arrays = safetensors.numpy.load_file(path)
        return Averaged(arrays["index"], arrays["classifier"], arrays.get("predictor"))


def export_classifier(run: Run, path: Path) -> None:
    """Write the classifier as a safetensors state dict; metadata name network, classes and input scaling."""
    tensors = {name: tensor.contiguous() for name, tensor in without_draws(run.weights.classifier).items()}
    facts = {"network": run.spec.network, **run.data.to_json()}
    metadata = {name: value if isinstance(value, str) else json.dumps(value) for name, value in facts.items()}
    with atomic_file(path) as temporary:
        _save_tensors(tensors, temporary, metadata)

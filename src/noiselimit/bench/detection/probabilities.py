"""Probabilities kept for later: where cleanlab is not at hand, it is asked about them elsewhere."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from noiselimit.bench.detection.cleanlab_says import has_cleanlab
from noiselimit.bench.detection.methods import CLEANLAB, WHEN, cleanlab_entry
from noiselimit.bench.detection.peers import Arrays
from noiselimit.bench.detection.problem import Labelled, Problem
from noiselimit.bench.detection.result import Content, read_detection
from noiselimit.data.npz import UNREADABLE, read_arrays
from noiselimit.errors import InputError
from noiselimit.files import atomic_file, write_json

KEPT = {"folds": (*WHEN, "averaged"), "default": ("probabilities", "seen"), "fast": ("probabilities", "seen")}
"""Training → which of its arrays are kept: 2 bytes × examples × classes for each table of probabilities."""


def save_probabilities(
    folder: Path, problem: Problem, labelled: Labelled, found: Mapping[str, Arrays]
) -> Path:
    """One compressed .npz for a problem, with its labels; probabilities in half precision."""
    labels = {"given": labelled.data.examples.labels, "clean": labelled.clean}
    arrays: dict[str, Any] = {name: each.astype(np.int32) for name, each in labels.items()}
    for training, names in KEPT.items():
        for name in names if training in found else ():
            array = found[training][name]
            arrays[f"{training}_{name}"] = array.astype(np.float16) if array.dtype.kind == "f" else array
    path = folder / f"{problem.name}.npz"
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)
    return path


def score_saved(folder: Path, out: Path) -> Content:
    """Ask cleanlab about the saved probabilities of every row in `out`, and write its answers there."""
    if not has_cleanlab():
        raise InputError(
            f"score is {folder}, but cleanlab, which is asked, is not installed: "
            "pip install 'noiselimit[peers]'."
        )
    content = read_detection(out)
    rows = []
    for row in content["rows"]:
        path = folder / f"{Problem(**row['problem']).name}.npz"
        arrays = _read(path)
        given, wrong = arrays["given"].astype(np.int64), arrays["given"] != arrays["clean"]
        methods = dict(row["methods"])
        for when in WHEN if f"folds_{WHEN[0]}" in arrays else ():
            said = cleanlab_entry(arrays[f"folds_{when}"], given, wrong)
            for rank in CLEANLAB:
                name = f"cleanlab-{rank}-{when}"
                methods[name] = {**methods[name], **said}
        rows.append({**row, "methods": methods})
    content = {**content, "rows": rows}
    write_json(out, content)
    return content


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(f"{path} is missing: name the folder that --save-probabilities filled.")
    try:
        arrays = read_arrays(path)
    except UNREADABLE:
        arrays = {}
    if not _is_whole(arrays):
        raise InputError(f"{path} is damaged: measure its row again.")
    return arrays


def _is_whole(arrays: Mapping[str, Any]) -> bool:
    """Whether there are labels given and clean, and of each of them probabilities, if any."""
    labels = [arrays.get(name, np.empty(0)) for name in ("given", "clean")]
    said = [arrays[name] for name in (f"folds_{when}" for when in WHEN) if name in arrays]
    if not all(each.dtype.kind in "iu" and each.shape == labels[0].shape == (each.size,) for each in labels):
        return False
    classes = 1 + max(int(each.max(initial=0)) for each in labels)
    return min(int(each.min(initial=0)) for each in labels) == 0 and all(
        each.dtype.kind == "f" and each.ndim == 2 and len(each) == labels[0].size and each.shape[1] >= classes
        for each in said
    )

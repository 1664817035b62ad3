"""The folder that an audit writes: label issues, probabilities, the report, and the runs to predict with."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow
import pyarrow.csv
import pyarrow.parquet

from noiselimit.audit.issues import Audit
from noiselimit.audit.quality import Probabilities, chunks
from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError
from noiselimit.files import atomic_folder, restore_folder
from noiselimit.runs.folder import AVERAGED, RUNS
from noiselimit.runs.run import Run

PARQUET, CSV, PRED_PROBS, REPORT = "label_issues.parquet", "label_issues.csv", "pred_probs.npy", "report.html"


def write_audit_files(folder: Path, audit: Audit, pred_probs: Probabilities, data: DataSet) -> None:
    """Write label_issues.parquet, label_issues.csv and pred_probs.npy [n, C] into an existing folder."""
    frame, examples = audit.table.copy(), data.examples
    for column in ("given_label", "predicted_label"):  # categories, whose numbers are columns of pred_probs
        codes = frame[column].fillna(-1).to_numpy(np.int64)
        frame[column] = pd.Categorical.from_codes(codes, pd.Index(examples.class_names))
    if examples.names is not None:
        frame["path"] = list(examples.names)
    frame = frame.assign(**examples.kept)
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    pyarrow.parquet.write_table(table, folder / PARQUET)
    pyarrow.csv.write_csv(table, folder / CSV)
    _write_probabilities(folder / PRED_PROBS, pred_probs)


def copy_runs(folder: Path, runs: Sequence[Run]) -> None:
    """Copy run folders into an audit, without the probabilities that it has averaged."""
    for run in runs:
        if run.path is not None:
            shutil.copytree(run.path, folder / RUNS / run.path.name, ignore=lambda *_: [AVERAGED])


def to_class_names(labels: "pd.Series[Any]", class_names: Sequence[str]) -> npt.NDArray[Any]:
    """Names [n] of class numbers; None if missing."""
    names = np.array([*class_names, None], object)
    return np.asarray(names[labels.fillna(-1).to_numpy(np.int64)])


def _write_probabilities(path: Path, probabilities: Probabilities) -> None:
    """Write float32 rows that sum to 1, chunk by chunk."""
    header = {"descr": "<f4", "fortran_order": False, "shape": probabilities.shape}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for part in chunks(*probabilities.shape):
            values = np.clip(np.asarray(probabilities[part], np.float64), 0.0, 1.0)
            file.write((values / values.sum(1, keepdims=True)).astype("<f4").tobytes())


def check_audit_folder(folder: Path, *, overwrite: bool) -> None:
    """Reject a folder that an audit may not write; call it before training."""
    restore_folder(folder.resolve())
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: this is a file; name a folder for the audit.")
    ours = {PARQUET, CSV, PRED_PROBS, REPORT, RUNS}
    others = sorted(
        entry.name
        for entry in folder.iterdir()
        if entry.name not in ours or entry.is_dir() != (entry.name == RUNS)
    )
    if others:  # --out . must not delete the user's files
        raise InputError(f"{folder} is not an audit's folder, because it holds {others[0]}: name another.")
    if not overwrite:
        raise InputError(f"{folder}: this folder exists; name another one or use --overwrite.")


@contextmanager
def audit_folder(folder: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary folder to fill; it becomes `folder` if no error occurs, replacing an older audit."""
    check_audit_folder(folder, overwrite=overwrite)
    with atomic_folder(folder.resolve(), replace=overwrite) as temporary:
        yield temporary

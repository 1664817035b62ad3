"""The folder that an audit writes: label_issues.parquet, label_issues.csv, pred_probs.npy and report.html."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from noiselimit.audit.issues import Audit
from noiselimit.audit.quality import chunks
from noiselimit.audit.validation import check_probabilities
from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError
from noiselimit.files import atomic_folder, restore_folder

PARQUET, CSV, PRED_PROBS, REPORT = "label_issues.parquet", "label_issues.csv", "pred_probs.npy", "report.html"
LABEL_COLUMNS = ("given_label", "predicted_label")


def write_audit_files(folder: Path, audit: Audit, pred_probs: Any, data: DataSet) -> None:
    """Write label_issues.parquet, label_issues.csv and pred_probs.npy [n, C] into an existing folder."""
    probabilities = check_probabilities(pred_probs)
    shape = len(data.examples), data.examples.classes
    if probabilities.shape != shape or len(audit.table) != shape[0]:
        raise InputError(
            f"{data.name} has {shape[0]} examples of {shape[1]} classes, but the audit has "
            f"{len(audit.table)} rows and pred_probs have shape {list(probabilities.shape)}: "
            "pass the data that were audited."
        )
    table = _issue_table(audit, data)
    pyarrow.csv.write_csv(table, folder / CSV)
    # In the Parquet file labels are categories, whose numbers are the columns of pred_probs.
    classes = pyarrow.array(data.examples.class_names, pyarrow.string())
    for name in LABEL_COLUMNS:
        place = table.schema.get_field_index(name)
        numbers = pyarrow.compute.index_in(table.column(place), value_set=classes, skip_nulls=True)
        labels = pyarrow.DictionaryArray.from_arrays(numbers.combine_chunks(), classes)
        table = table.set_column(place, name, labels)
    pyarrow.parquet.write_table(table, folder / PARQUET)
    _write_probabilities(folder / PRED_PROBS, probabilities)


def _issue_table(audit: Audit, data: DataSet) -> pyarrow.Table:
    """The table of the audit with class names, and with paths if the examples have names."""
    frame = audit.table.copy()
    for column in LABEL_COLUMNS:
        frame[column] = to_class_names(frame[column], data.examples.class_names)
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    for column in LABEL_COLUMNS:  # strings even if all are missing
        place = table.schema.get_field_index(column)
        table = table.set_column(place, column, table.column(place).cast(pyarrow.string()))
    if data.examples.names is not None:
        table = table.append_column("path", pyarrow.array(data.examples.names, pyarrow.string()))
    return table


def to_class_names(labels: "pd.Series[Any]", class_names: Sequence[str]) -> npt.NDArray[Any]:
    """Names [n] of class numbers; None if missing."""
    names = np.array([*class_names, None], object)
    return np.asarray(names[labels.fillna(-1).to_numpy(np.int64)])


def _write_probabilities(path: Path, probabilities: npt.NDArray[np.floating[Any]]) -> None:
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
    if not overwrite:
        raise InputError(f"{folder}: this folder exists; name another one or use --overwrite.")
    ours = {PARQUET, CSV, PRED_PROBS, REPORT}
    others = sorted(entry.name for entry in folder.iterdir() if entry.name not in ours or entry.is_dir())
    if others:  # --out . must not delete the user's files
        raise InputError(f"{folder}: {others[0]} in it is not part of an audit; name another folder.")


@contextmanager
def audit_folder(folder: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary folder to fill; it becomes `folder` if no error occurs, replacing an older audit."""
    check_audit_folder(folder, overwrite=overwrite)
    with atomic_folder(folder.resolve(), replace=overwrite) as temporary:
        yield temporary

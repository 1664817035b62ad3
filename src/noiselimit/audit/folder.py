"""What an audit leaves behind: a folder with a table of label issues and the probabilities it rests on."""

import re
import shutil
import tempfile
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
from noiselimit.files import atomic_folder, is_leftover, name_for_libraries

PARQUET, CSV, PRED_PROBS, REPORT = "label_issues.parquet", "label_issues.csv", "pred_probs.npy", "report.html"
LABELS = ("given_label", "predicted_label")
OLD = "old"
"""Name, in a temporary folder, of an audit that is being replaced."""
WRITTEN = frozenset({PARQUET, CSV, PRED_PROBS, REPORT})


def write_audit(
    folder: Path, audit: Audit, pred_probs: Any, data: DataSet, *, overwrite: bool = False
) -> None:
    """Write label_issues.parquet, label_issues.csv and pred_probs.npy [n, C] in data order, or nothing."""
    with audit_folder(folder, overwrite=overwrite) as temporary:
        write_audit_files(temporary, audit, pred_probs, data)


def write_audit_files(folder: Path, audit: Audit, pred_probs: Any, data: DataSet) -> None:
    """The same into a folder that is there, for those who have more to put into it."""
    probabilities = check_probabilities(pred_probs)
    shape = len(data.examples), data.examples.classes
    if probabilities.shape != shape or len(audit.table) != shape[0]:
        raise InputError(
            f"{data.name} has {shape[0]} examples of {shape[1]} classes, but the audit has "
            f"{len(audit.table)} rows and pred_probs have shape {list(probabilities.shape)}: "
            "give those of the same data."
        )
    table = issue_table(audit, data)
    with name_for_libraries(folder / PARQUET, create=True) as known:
        pyarrow.parquet.write_table(_categorical(table, data.examples.class_names), known)
    with name_for_libraries(folder / CSV, create=True) as known:
        pyarrow.csv.write_csv(table, known)
    _write_probabilities(folder / PRED_PROBS, probabilities)


def issue_table(audit: Audit, data: DataSet) -> pyarrow.Table:
    """The audit's table with class names instead of numbers, and paths where the examples have names."""
    frame = audit.table.copy()
    for column in LABELS:
        frame[column] = to_class_names(frame[column], data.examples.class_names)
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    for column in LABELS:  # also where all are missing
        place = table.schema.get_field_index(column)
        table = table.set_column(place, column, table.column(place).cast(pyarrow.string()))
    if data.examples.names is not None:
        table = table.append_column("path", pyarrow.array(data.examples.names, pyarrow.string()))
    return table


def _categorical(table: pyarrow.Table, class_names: Sequence[str]) -> pyarrow.Table:
    """The same table whose labels are also numbers: those of their class, which is a column of pred_probs."""
    classes = pyarrow.array(class_names, pyarrow.string())
    for name in LABELS:
        place = table.schema.get_field_index(name)
        numbers = pyarrow.compute.index_in(table.column(place), value_set=classes, skip_nulls=True)
        labels = pyarrow.DictionaryArray.from_arrays(numbers.combine_chunks(), classes)
        table = table.set_column(place, name, labels)
    return table


def to_class_names(labels: "pd.Series[Any]", class_names: Sequence[str]) -> npt.NDArray[Any]:
    """Names [n] of labels that are numbers or names already; None where missing."""
    names = np.array([*class_names, None], object)
    missing = labels.isna().to_numpy()
    if pd.api.types.is_numeric_dtype(labels.dtype):
        numbers = labels.fillna(len(class_names)).to_numpy(np.int64)
        known = missing | ((numbers >= 0) & (numbers < len(class_names)))
    else:
        numbers = pd.Index(class_names).get_indexer(pd.Index(labels))
        numbers[missing] = len(class_names)
        known = numbers >= 0
    if not known.all():
        raise InputError(
            f"label {labels.iloc[int(np.argmin(known))]!r} of the audit is none of the {len(class_names)} "
            "classes of the data: give the data that were audited."
        )
    return np.asarray(names[numbers])


def check_audit_folder(folder: Path, *, overwrite: bool) -> None:
    """Complain where an audit may not be written; worth asking before hours of training."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: this is a file; name a folder for the audit.")
    if not overwrite:
        raise InputError(f"{folder}: this folder exists; name another one or give --overwrite.")
    others = sorted(entry.name for entry in folder.iterdir() if entry.name not in WRITTEN or entry.is_dir())
    if others:  # a slip such as --out . must not cost anybody his files
        raise InputError(
            f"{folder}: holds {others[0]}, which no audit wrote, so it is not replaced; name another folder."
        )


@contextmanager
def audit_folder(folder: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary folder to fill; it becomes `folder`, in place of an older audit, if all goes well."""
    folder = folder.resolve()
    check_audit_folder(folder, overwrite=overwrite)
    if not folder.exists():
        with atomic_folder(folder) as temporary:
            yield temporary
        return
    # The old one is moved aside only once the new one is complete, and comes back should that fail.
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", suffix=".tmp", dir=folder.parent) as beside:
        new, old = Path(beside, "new"), Path(beside, OLD)
        with atomic_folder(new) as temporary:
            yield temporary
        check_audit_folder(folder, overwrite=True)  # somebody may have put something there meanwhile
        try:
            folder.rename(old)
        except OSError as error:
            raise InputError(
                f"cannot replace folder {folder} ({error.strerror}): name another one."
            ) from None
        try:
            new.rename(folder)
        except BaseException:
            if not folder.exists():
                old.rename(folder)
            raise
        shutil.rmtree(old, ignore_errors=True)


def put_back(folder: Path) -> None:
    """Give an older audit its name again, if who replaced it was killed before the new one had that."""
    for entry in folder.parent.iterdir():
        if is_leftover(entry, re.escape(folder.name)) and (entry / OLD).is_dir() and not folder.exists():
            (entry / OLD).rename(folder)


def _write_probabilities(path: Path, probabilities: npt.NDArray[np.floating[Any]]) -> None:
    """Piece by piece as float32; rows are divided by their sums, so that they sum to 1 but for rounding."""
    header = {"descr": "<f4", "fortran_order": False, "shape": probabilities.shape}
    with path.open("wb") as file:  # not through mapped memory: there, a full disk ends the process
        np.lib.format.write_array_header_1_0(file, header)
        for piece in chunks(*probabilities.shape):
            part = np.clip(np.asarray(probabilities[piece], np.float64), 0.0, 1.0)
            file.write((part / part.sum(1, keepdims=True)).astype("<f4").tobytes())

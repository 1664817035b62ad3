"""Check and convert what users pass to an audit: inputs, labels and class probabilities."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.audit.quality import Flags, Labels, Probabilities, chunks
from noiselimit.data.arrays import as_array, encode_labels, label_array, read_labels
from noiselimit.data.catalogue import as_data_set
from noiselimit.data.examples import (
    MISSING_LABEL,
    DataSet,
    fill_labels,
    make_examples,
    without_labels,
)
from noiselimit.data.leakage import by_drop, column_notes
from noiselimit.data.table_file import class_numbers, frame_data_set, is_table
from noiselimit.errors import InputError
from noiselimit.features.texts import TextFeatures

TOLERANCE = 1e-3  # of a row sum: enough for four decimals or half precision


@dataclass(frozen=True, eq=False)
class GivenLabels:
    """Labels as class numbers, with the user's own names for the classes."""

    labels: Labels
    """[n]; −1 if missing."""
    names: npt.NDArray[Any] | None
    """[C]; None if the labels are the class numbers themselves."""

    @property
    def missing(self) -> Flags:
        """[n]"""
        return np.asarray(self.labels < 0)

    def to_names(self, labels: Labels) -> npt.NDArray[Any]:
        """Convert class numbers to the user's labels."""
        return labels if self.names is None else np.asarray(self.names[labels])


def check_probabilities(values: Any) -> Probabilities:
    """Return pred_probs as floats [n, C ≥ 2] whose rows sum to 1; floats are not copied."""
    found = as_array(values, "pred_probs", "probabilities")
    if found.ndim != 2 or not len(found) or found.shape[1] < 2 or found.dtype.kind not in "biuf":
        raise InputError(
            f"pred_probs have shape {list(found.shape)} and type {found.dtype}: give numbers, one row per "
            "example and one column per class, at least two."
        )
    probabilities = found if found.dtype.kind == "f" else found.astype(np.float32)
    for part in chunks(*probabilities.shape):
        values = np.asarray(probabilities[part])
        sums = values.sum(1, dtype=np.float64)
        valid = (values.min(1) >= -TOLERANCE) & (np.abs(sums - 1) <= TOLERANCE)  # false for NaN
        if not valid.all():
            row = part.start + int(np.argmin(valid))
            raise InputError(
                f"row {row} of pred_probs holds NaN or a negative number, or does not sum to 1: give "
                "probabilities."
            )
    return probabilities


def check_labels(values: Any, rows: int, classes: int) -> GivenLabels:
    """Return labels [rows] as numbers of the columns of pred_probs.

    Labels are column numbers, or strings whose sorted names are the columns, or a categorical whose
    categories are the columns. None, NaN and blank strings are missing labels.
    """
    array = values.array if isinstance(values, pd.Series | pd.Index) else values
    names: npt.NDArray[Any] | None = None
    if isinstance(array, pd.Categorical) and len(array.categories) == classes:
        labels = np.asarray(array.codes, np.int64)
        names = array.categories.to_numpy()
        if names.dtype.kind in "iu" and bool((names == np.arange(len(names))).all()):
            names = None
    else:
        filled, missing = fill_labels(values, "labels")
        known = read_labels(filled, "labels")
        columns = [str(column) for column in range(classes)]
        if known.dtype.kind == "U":
            names = np.unique(known)
            columns = names.tolist()
        if len(columns) != classes:
            raise InputError(
                f"labels have {len(columns)} different names but pred_probs have {classes} columns: give "
                "column numbers as labels, or one column for every name in sorted order."
            )
        labels = np.where(missing, MISSING_LABEL, encode_labels(known, columns, "labels"))
    if len(labels) != rows:
        raise InputError(
            f"there are {len(labels)} labels but {rows} rows of pred_probs: give one label per row."
        )
    if len(np.unique(labels[labels >= 0])) < 2:
        raise InputError("all labels are missing or of one class: give labels of at least two classes.")
    return GivenLabels(labels, names)


def prepare_data(inputs: Any, labels: Any, features: str = "auto") -> tuple[DataSet, GivenLabels]:
    """Turn X and y into a data set; y is None if the inputs bring their own labels."""
    if labels is None:
        data = as_data_set(inputs)
        return data, GivenLabels(data.examples.labels, np.array(data.examples.class_names, object))
    if isinstance(labels, pd.Series):
        column = labels.rename("y").reset_index(drop=True)
    else:
        column = pd.Series(label_array(labels, "y"), name="y")
    if is_table(inputs):
        data = frame_data_set(
            inputs, column, source="X and y", keep_unlabelled=True, text=TextFeatures(features)
        )
        assert data.table is not None
        columns = data.table.without_kept(inputs)
        notes = column_notes(columns, data.examples.labels, "X", by_drop)
        data = replace(data, notes=(*data.notes, *notes))
    else:
        filled, missing = fill_labels(column, "y")
        names, numbers = class_numbers(pd.Series(filled, name="y"), "X and y")
        examples = make_examples(inputs, numbers, class_names=names, source="X")
        data = DataSet("X", without_labels(examples, missing))
    return data, GivenLabels(data.examples.labels, _original_names(data.examples.class_names, column))


def _original_names(names: tuple[str, ...], labels: "pd.Series[Any]") -> npt.NDArray[Any]:
    """[C] class names with the type that they have among the labels: bool, int or str."""
    kind = pd.api.types.infer_dtype(labels, skipna=True)
    if kind == "boolean":
        return np.array([name == "True" for name in names])
    if kind in ("string", "categorical") or not all(name.removeprefix("-").isdecimal() for name in names):
        return np.array(names, object)
    return np.array([int(name) for name in names])

"""Check and convert what users pass to an audit: inputs, labels and class probabilities."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.audit.quality import Flags, Labels, Probabilities, chunks
from noiselimit.data.arrays import as_array
from noiselimit.data.catalogue import as_data_set
from noiselimit.data.examples import DataSet, fill_labels, make_examples, without_labels
from noiselimit.data.leakage import by_drop, column_notes
from noiselimit.data.table_file import class_numbers, frame_data_set, is_table
from noiselimit.errors import InputError

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
    categories are the columns. None, NaN and empty strings are missing labels.
    """
    array = values.array if isinstance(values, pd.Series | pd.Index) else values
    if isinstance(array, pd.Categorical) and len(array.categories) == classes:
        labels = np.asarray(array.codes, np.int64)
        names: npt.NDArray[Any] | None = array.categories.to_numpy()
        assert names is not None
        if names.dtype.kind in "iu" and bool((names == np.arange(len(names))).all()):
            names = None
    else:
        labels, names = _encode(_flat(values, "labels"), classes)
    if len(labels) != rows:
        raise InputError(
            f"there are {len(labels)} labels but {rows} rows of pred_probs: give one label per row."
        )
    if len(np.unique(labels[labels >= 0])) < 2:
        raise InputError("all labels are missing or of one class: give labels of at least two classes.")
    return GivenLabels(labels, names)


def _flat(values: Any, name: str) -> npt.NDArray[Any]:
    """The labels as an array [n], of Python objects unless they are plain numbers or strings."""
    if isinstance(values, list | tuple):  # NumPy would turn ["a", None, 3] into strings
        values = pd.Series(list(values), dtype=object)
    if isinstance(values, pd.Series | pd.Index):
        plain = isinstance(values.dtype, np.dtype) and values.dtype.kind in "biuf"
        values = values.to_numpy() if plain else values.to_numpy(dtype=object)
    found = as_array(values, name, "labels")
    if found.ndim != 1:
        raise InputError(
            f"{name} has shape {list(found.shape)}: give one label per example, and class probabilities as "
            "find_label_issues(labels=..., pred_probs=...)."
        )
    return found


def _encode(found: npt.NDArray[Any], classes: int) -> tuple[Labels, npt.NDArray[Any] | None]:
    """Numbers [n] of the classes, −1 if missing, and their names unless labels are numbers."""
    missing = np.asarray(pd.isna(found)) if found.dtype.kind in "Of" else np.zeros(len(found), bool)
    if found.dtype.kind in "OUT":
        missing[~missing] = found[~missing] == ""
    known = found[~missing]
    labels = np.full(len(found), -1, np.int64)
    if not len(known):
        return labels, None
    if found.dtype.kind in "UT" or all(isinstance(label, str) for label in known):
        names, labels[~missing] = np.unique(known.astype(str), return_inverse=True)
        if len(names) != classes:
            raise InputError(
                f"labels have {len(names)} different names but pred_probs have {classes} columns: give "
                "column numbers as labels, or one column for every name in sorted order."
            )
        return labels, names
    labels[~missing] = _column_numbers(known, np.flatnonzero(~missing), classes)
    return labels, None


def _column_numbers(known: npt.NDArray[Any], rows: npt.NDArray[np.intp], classes: int) -> Labels:
    try:
        numbers = known.astype(np.float64) if known.dtype.kind not in "biu" else known
    except (TypeError, ValueError):
        raise InputError("labels mix strings and other types: give only integers or only strings.") from None
    wrong = ~((numbers >= 0) & (numbers < classes) & (numbers == np.floor(numbers)))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InputError(
            f"label in row {rows[place]} is {known[place]}: give column numbers of pred_probs, "
            f"integers from 0 to {classes - 1}."
        )
    return numbers.astype(np.int64)


def prepare_data(inputs: Any, labels: Any) -> tuple[DataSet, GivenLabels]:
    """Turn X and y into a data set; y is None if the inputs bring their own labels."""
    if labels is None:
        data = as_data_set(inputs)
        return data, GivenLabels(data.examples.labels, np.array(data.examples.class_names, object))
    if isinstance(labels, pd.Series):
        column = labels.rename("y").reset_index(drop=True)
    else:
        column = pd.Series(_flat(labels, "y"), name="y")
    if is_table(inputs):
        data = frame_data_set(inputs, column, source="X and y", keep_unlabelled=True)
        data = replace(data, notes=column_notes(inputs, data.examples.labels, "X", by_drop))
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

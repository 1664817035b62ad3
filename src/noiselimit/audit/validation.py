"""Inputs and labels as a Python user holds them, for an audit: labels of any kind, some of them missing."""

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

TOLERANCE = 1e-3  # of a sum of probabilities: what four decimals or half precision leave of it


@dataclass(frozen=True, eq=False)
class GivenLabels:
    """Labels as numbers below C, and what they were called."""

    labels: Labels
    """[n]; −1 where missing."""
    names: npt.NDArray[Any] | None
    """[C] of any one type; None where labels are the numbers themselves."""

    @property
    def missing(self) -> Flags:
        """[n]"""
        return np.asarray(self.labels < 0)

    def to_names(self, labels: Labels) -> npt.NDArray[Any]:
        """These labels, none missing, as the user calls them."""
        return labels if self.names is None else np.asarray(self.names[labels])


def check_probabilities(values: Any) -> Probabilities:
    """pred_probs as floats [n, C ≥ 2], every row a distribution; not copied where it is one already."""
    found = as_array(values, "pred_probs", "probabilities")
    if found.ndim != 2 or 0 in found.shape:
        raise InputError(
            f"pred_probs have shape {list(found.shape)}: give one row per example, one column per class."
        )
    if found.dtype.kind not in "biuf":
        raise InputError(f"pred_probs have type {found.dtype}: give numbers.")
    if found.shape[1] == 1:
        raise InputError(
            "pred_probs have one column, so there is one class only: give a column for every class."
        )
    probabilities = found if found.dtype.kind == "f" else found.astype(np.float32)
    for piece in chunks(*probabilities.shape):
        part = np.asarray(probabilities[piece])
        sums = part.sum(1, dtype=np.float64)
        possible = (part.min(1) >= -TOLERANCE) & (part.max(1) <= 1 + TOLERANCE)  # false for NaN too
        _refuse_row(possible, piece.start, "holds NaN or a number outside 0 to 1: give probabilities")
        _refuse_row(
            np.abs(sums - 1) <= TOLERANCE, piece.start, "does not sum to 1: divide every row by its sum"
        )
    return probabilities


def check_labels(values: Any, rows: int, classes: int) -> GivenLabels:
    """labels [rows] as numbers; None, NaN and empty strings count as missing. Categories, where there is one
    for every class, are the columns in their own order, as a Parquet file of an audit has them."""
    categories = _categories(values)
    if categories is not None and len(categories.categories) == classes:
        return _of_categories(categories, rows)
    found = _flat(values)
    _check_count(len(found), rows)
    missing = np.asarray(pd.isna(found)) if found.dtype.kind in "Of" else np.zeros(rows, bool)
    if found.dtype.kind in "OUT":
        missing[~missing] = found[~missing] == ""
    known = found[~missing]
    _check_any(known)
    text = np.array([isinstance(label, str) for label in known]) if found.dtype.kind == "O" else None
    labels = np.full(rows, -1, np.int64)
    names = None
    if found.dtype.kind in "UT" or (text is not None and text.all()):
        names, labels[~missing] = np.unique(known.astype(str), return_inverse=True)
        if len(names) != classes:
            raise InputError(
                f"labels have {len(names)} different names but pred_probs have {classes} columns: give "
                "numbers of columns as labels, or a column for every name in sorted order."
            )
    else:
        labels[~missing] = _numbers(known, np.flatnonzero(~missing), classes)
    _check_classes(labels[~missing])
    return GivenLabels(labels, names)


def _categories(values: Any) -> pd.Categorical | None:
    if isinstance(values, pd.Series | pd.Index):
        values = values.array
    return values if isinstance(values, pd.Categorical) else None


def _of_categories(values: pd.Categorical, rows: int) -> GivenLabels:
    labels = np.asarray(values.codes, np.int64)
    _check_count(len(labels), rows)
    _check_any(labels[labels >= 0])
    _check_classes(labels[labels >= 0])
    names = values.categories.to_numpy()
    numbers = names.dtype.kind in "iu" and bool((names == np.arange(len(names))).all())
    return GivenLabels(labels, None if numbers else names)


def _check_count(labels: int, rows: int) -> None:
    if labels != rows:
        raise InputError(f"there are {labels} labels but {rows} rows of pred_probs: give one label per row.")


def _check_any(known: npt.NDArray[Any]) -> None:
    if not len(known):
        raise InputError("all labels are missing: give at least two classes of labels.")


def _check_classes(labels: Labels) -> None:
    if (labels == labels[0]).all():
        raise InputError("all labels are of one class: an audit needs examples of two classes or more.")


def _flat(values: Any) -> npt.NDArray[Any]:
    if isinstance(values, list | tuple):  # NumPy would make strings of ["a", None, 3] without a word
        values = pd.Series(list(values), dtype=object)
    if isinstance(values, pd.Series | pd.Index):
        plain = isinstance(values.dtype, np.dtype) and values.dtype.kind in "biuf"
        values = values.to_numpy() if plain else values.to_numpy(dtype=object)
    found = as_array(values, "labels", "labels")
    if found.ndim != 1:
        raise InputError(f"labels have shape {list(found.shape)}: give one label per example.")
    return found


def _numbers(known: npt.NDArray[Any], rows: Labels, classes: int) -> Labels:
    """Labels that are there as whole numbers from 0 to C − 1; `rows` says where they stand."""
    try:
        numbers = known.astype(np.float64) if known.dtype.kind not in "biu" else known
    except (TypeError, ValueError):
        raise InputError(
            "labels mix strings and other things: give whole numbers only or strings only."
        ) from None
    wrong = ~((numbers >= 0) & (numbers < classes) & (numbers == np.floor(numbers)))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InputError(
            f"label in row {rows[place]} is {known[place]}: labels are numbers of columns, "
            f"so give whole numbers from 0 to {classes - 1}."
        )
    return numbers.astype(np.int64)


def _refuse_row(good: Flags, start: int, problem: str) -> None:
    if not good.all():
        raise InputError(f"row {start + int(np.argmin(good))} of pred_probs {problem}.")


def prepare_data(inputs: Any, labels: Any) -> tuple[DataSet, GivenLabels]:
    """Data, and their labels as the user calls them. Inputs that bring their own labels need no others."""
    if labels is None:
        data = as_data_set(inputs)
        return data, GivenLabels(data.examples.labels, np.array(data.examples.class_names, object))
    column = _column(labels)
    if is_table(inputs):
        data = frame_data_set(inputs, column, source="X and y", keep_unlabelled=True)
        data = replace(data, notes=column_notes(inputs, data.examples.labels, "X", by_drop))
    else:
        filled, missing = fill_labels(column, "y")
        names, numbers = class_numbers(pd.Series(filled, name="y"), "X and y")
        examples = make_examples(inputs, numbers, class_names=names, source="X")
        data = DataSet("X", without_labels(examples, missing))
    return data, GivenLabels(data.examples.labels, _as_given(data.examples.class_names, column))


def _column(labels: Any) -> "pd.Series[Any]":
    if isinstance(labels, pd.Series):
        return labels.rename("y").reset_index(drop=True)
    if isinstance(labels, list | tuple):  # NumPy would make strings of ["a", None, 3] without a word
        return pd.Series(list(labels), dtype=object, name="y")
    array = as_array(labels, "y", "labels")
    if array.ndim != 1:
        raise InputError(
            f"y has shape {list(array.shape)}: give one label per example, or class probabilities by name as "
            "find_label_issues(labels=..., pred_probs=...)."
        )
    return pd.Series(array, name="y")


def _as_given(names: tuple[str, ...], labels: "pd.Series[Any]") -> npt.NDArray[Any]:
    """[C] the classes as they stood among the labels: numbers and truth values are no text."""
    kind = pd.api.types.infer_dtype(labels, skipna=True)
    if kind == "boolean":
        return np.array([name == "True" for name in names])
    if kind in ("string", "categorical") or not all(name.removeprefix("-").isdecimal() for name in names):
        return np.array(names, object)
    return np.array([int(name) for name in names])

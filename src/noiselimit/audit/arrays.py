"""Inputs and labels as a Python user holds them, for an audit: labels of any kind, some of them missing."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.audit.given import Given
from noiselimit.data.convert import as_data_set
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.frame import class_numbers, frame_data_set, is_table
from noiselimit.data.inputs import as_array
from noiselimit.data.missing_labels import fill_labels, without_labels
from noiselimit.data.telling_columns import by_drop, column_notes
from noiselimit.errors import InputError


def as_audited(inputs: Any, labels: Any) -> tuple[DataSet, Given]:
    """Data, and their labels as the user calls them. Inputs that bring their own labels need no others."""
    if labels is None:
        data = as_data_set(inputs)
        return data, Given(data.examples.labels, np.array(data.examples.class_names, object))
    column = _column(labels)
    if is_table(inputs):
        data = frame_data_set(inputs, column, source="X and y", keep_unlabelled=True)
        data = replace(data, notes=column_notes(inputs, data.examples.labels, "X", by_drop))
    else:
        filled, missing = fill_labels(column, "y")
        names, numbers = class_numbers(pd.Series(filled, name="y"), "X and y")
        examples = make_examples(inputs, numbers, class_names=names, source="X")
        data = DataSet("X", without_labels(examples, missing))
    return data, Given(data.examples.labels, _as_given(data.examples.class_names, column))


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

"""Examples without a label: they keep their place among the others, with −1 for a label."""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.data.examples import Examples
from noiselimit.data.inputs import as_array
from noiselimit.data.lazy import LazyInputs
from noiselimit.errors import InputError

MISSING_LABEL = -1

Flags = npt.NDArray[np.bool_]


def fill_labels(labels: Any, source: str) -> tuple[npt.NDArray[Any], Flags]:
    """(labels [n], which were missing [n]): None, NaN and empty text are replaced by a label that occurs.

    So the labels can be checked and encoded like any others, row by row; `without_labels` takes those that
    nobody gave away again.
    """
    if isinstance(labels, list | tuple):  # NumPy would make strings of ["a", None, 3] without a word
        labels = pd.Series(list(labels), dtype=object).to_numpy()
    if isinstance(labels, pd.Series) and not isinstance(labels.dtype, np.dtype):
        labels = labels.to_numpy(dtype=object)
    found = as_array(labels, source, "labels")
    if found.ndim != 1:  # which those who encode it say
        return found, np.zeros(len(found) if found.ndim else 0, bool)
    missing = np.asarray(pd.isna(found)) if found.dtype.kind in "Of" else np.zeros(len(found), bool)
    if found.dtype.kind in "OU":
        missing = missing | np.array([isinstance(label, str) and not label.strip() for label in found], bool)
    if missing.all():
        raise InputError(f"{source}: there is no label at all; give examples of at least two classes one.")
    if missing.any():
        found = found.copy()
        found[missing] = found[np.argmin(missing)]
    return found, missing


def without_labels(examples: Examples, missing: Flags) -> Examples:
    """The examples with −1 for the labels [n] that are missing."""
    if not missing.any():
        return examples
    return dataclasses.replace(examples, labels=np.where(missing, MISSING_LABEL, examples.labels))


def is_labelled(examples: Examples) -> Flags:
    """[n]"""
    return np.asarray(examples.labels != MISSING_LABEL)


def require_labels(examples: Examples, source: str) -> None:
    """Refuse examples without a label, with one sentence: only an audit knows what to do with them."""
    there = is_labelled(examples)
    if not there.all():
        raise InputError(
            f"{source}: {int((~there).sum())} examples have no label, the first of them in row "
            f"{int(np.argmin(there))}, and only an audit can use such; label or remove them."
        )


def take_examples(examples: Examples, rows: npt.NDArray[np.int64]) -> Examples:
    """These rows [m] alone, in this order."""
    inputs, clean, weights, names = examples.inputs, examples.clean_labels, examples.weights, examples.names
    return dataclasses.replace(
        examples,
        inputs=inputs.take(rows.tolist()) if isinstance(inputs, LazyInputs) else inputs[rows],
        labels=examples.labels[rows],
        clean_labels=None if clean is None else clean[rows],
        weights=None if weights is None else weights[rows],
        label_sets={name: labels[rows] for name, labels in examples.label_sets.items()},
        names=None if names is None else [names[row] for row in rows],
    )

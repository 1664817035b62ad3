"""Examples without a label: they keep their place among the others, with −1 for a label."""

import dataclasses

import numpy as np
import numpy.typing as npt

from noiselimit.data.examples import DataSet, Examples
from noiselimit.data.lazy import LazyInputs
from noiselimit.errors import InputError

MISSING_LABEL = -1


def is_labelled(examples: Examples) -> npt.NDArray[np.bool_]:
    """[n]"""
    return np.asarray(examples.labels >= 0)


def require_labels(data: DataSet) -> None:
    """Refuse examples without a label, with one sentence: only an audit knows what to do with them."""
    there = is_labelled(data.examples)
    if not there.all():
        raise InputError(
            f"{data.name}: {int((~there).sum())} examples have no label, the first in row "
            f"{int(np.argmin(there))}; remove them or give them one."
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

"""From what a Python user holds, arrays or a torch Dataset, to a data set."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.data.frame import frame_data_set, is_table
from noiselimit.data.inputs import as_array
from noiselimit.errors import InputError


def as_data_set(value: Any) -> DataSet:
    """A DataSet from a DataSet, Examples, a tuple (X, y), or a map-style Dataset of pairs (x, y).

    X may be a DataFrame: where its columns have names, they may hold text as well as numbers.
    """
    if isinstance(value, DataSet):
        return value
    if isinstance(value, Examples):
        return DataSet("examples", value)
    if isinstance(value, tuple) and len(value) == 2 and is_table(value[0]):
        return frame_data_set(*value)
    if isinstance(value, tuple) and len(value) == 2:
        return DataSet("arrays", make_examples(*value, source="arrays"))
    if _is_map_style(value):
        return DataSet(type(value).__name__, _collect(value))
    raise InputError(
        f"data of type {type(value).__name__} cannot be used; give a DataSet, Examples, a tuple (X, y) "
        "of arrays or a torch Dataset with a length."
    )


def _is_map_style(value: Any) -> bool:
    """Whether items can be fetched by number: told by what a torch Dataset offers, so torch is not loaded.

    Arrays, tensors and tables could be indexed too, but they lack the labels: these have a shape.
    """
    indexable = hasattr(value, "__len__") and hasattr(value, "__getitem__")
    return indexable and not hasattr(value, "shape") and not isinstance(value, Mapping | str | bytes)


def _collect(pairs: Any) -> Examples:
    """Fetch every item once. Random augmentation in the Dataset is thereby frozen."""
    source = type(pairs).__name__
    inputs, labels = [], []
    for row in range(len(pairs)):
        item = pairs[row]
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise InputError(f"{source}: item {row} is not a pair; return (input, label) from the Dataset.")
        inputs.append(as_array(item[0], source, f"the input of item {row}"))
        if inputs[row].shape != inputs[0].shape:
            raise InputError(
                f"{source}: the input of item {row} has shape {list(inputs[row].shape)} but that of item 0 "
                f"{list(inputs[0].shape)}; bring all inputs to one shape."
            )
        labels.append(item[1])
    if not inputs:
        raise InputError(f"{source}: the Dataset is empty; give at least one example of each class.")
    return make_examples(np.stack(inputs), labels, source=source)

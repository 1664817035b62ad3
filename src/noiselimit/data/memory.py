"""Data that a Python user holds in memory, as NumPy and pandas objects.

Types of other libraries are recognised by the module that defines them, so that none of these is imported.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL.Image import Image

from noiselimit.data.arrays import LazyInputs, as_array
from noiselimit.data.columns import Numeric
from noiselimit.data.pictures import is_picture_list, stack_equal
from noiselimit.data.tables import Table, numbered
from noiselimit.errors import InputError

LARGEST_DENSE = 4 * 2**30
"""Bytes that a sparse matrix may take as an array."""
LABEL_COLUMNS = ("label", "labels")
"""Where a Hugging Face Dataset holds its labels: the first of these that is there."""

Stack = Callable[[list[Image]], Any]


def from_memory(inputs: Any, labels: Any = None, stack: Stack = lambda pictures: pictures) -> tuple[Any, Any]:
    """(inputs, labels): DataFrames, Series, arrays, and what NumPy makes an array of.

    Takes polars, pyarrow, scipy.sparse and Hugging Face objects, too, torch Datasets and DataLoaders, lists
    of PIL pictures, and lists of texts, which become a frame. Labels are None if the inputs hold them, or are
    a tuple (inputs, labels). `stack` gets a list of pictures before they become an array, and may return an
    array of its own. Objects of other types come back as they are, with None if they have no labels.
    """
    if labels is None and isinstance(inputs, tuple) and len(inputs) == 2:
        inputs, labels = inputs
    if _is_from("torch", inputs, "batch_sampler"):
        kinds = {each.__name__ for each in type(inputs.dataset).__mro__}
        inputs = _rows_of(inputs) if "IterableDataset" in kinds else inputs.dataset
    if _is_from("datasets", inputs, "features"):
        inputs, own = _split_columns(inputs)
        if own is None and labels is None:
            raise InputError(
                "the Dataset has no column 'label' or 'labels'; rename yours with rename_column."
            )
        labels = own if labels is None else labels
    elif _is_from("datasets", inputs, "keys"):
        raise InputError(f"the data have the parts {', '.join(inputs)}; give one, such as data['train'].")
    elif labels is None and _is_dataset(inputs):
        inputs, labels = _collect(inputs)
    inputs, labels = to_pandas(inputs), to_pandas(labels)
    if isinstance(labels, pd.DataFrame) and labels.shape[1] == 1:
        labels = labels.iloc[:, 0]
    if is_picture_list(inputs):
        inputs = stack(inputs)
        inputs = stack_equal(inputs) if isinstance(inputs, list) else inputs
    elif _is_from("scipy", inputs, "toarray"):
        inputs = _to_dense(inputs)
    return _texts_as_frame(inputs), labels


def encode_gaps(inputs: Any, source: str) -> tuple[Any, Table | None]:
    """A matrix with missing numbers as features, and the table that encodes new rows in the same way.

    The columns are called '0', '1', …. Inputs of other kinds come back as they are, with None.
    """
    matrix = _with_gaps(inputs, source)
    if matrix is None or np.isinf(matrix).any():
        return inputs, None
    frame = numbered(matrix)
    columns = []
    for name, values in frame.items():
        present = values[values.notna()]
        median = float(present.median()) if len(present) else 0.0
        columns.append(Numeric(str(name), None if len(present) == len(values) else median))
    table = Table(tuple(columns))
    return table.encode(frame, source), table


def fill_gaps(inputs: Any, means: Sequence[float]) -> Any:
    """A matrix with the means [features] in place of missing numbers; inputs of other kinds as they are."""
    matrix = _with_gaps(inputs, "inputs")
    if matrix is None or matrix.shape[1] != len(means):
        return inputs
    return np.where(np.isnan(matrix), np.asarray(means, matrix.dtype), matrix)


def _with_gaps(inputs: Any, source: str) -> npt.NDArray[Any] | None:
    """The inputs if they are a matrix of numbers of which some are missing, else None."""
    array = np.empty(0) if isinstance(inputs, LazyInputs) else as_array(inputs, source, "inputs")
    return array if array.ndim == 2 and array.dtype.kind == "f" and np.isnan(array).any() else None


def _texts_as_frame(value: Any) -> Any:
    """A DataFrame with one column of text, if that is what the value holds; else the value itself."""
    if isinstance(value, pd.Series) and pd.api.types.infer_dtype(value, skipna=True) == "string":
        return value.to_frame("text")
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "UOT":
        value = value.tolist()
    texts = value if isinstance(value, list | tuple) else ()
    if any(isinstance(text, str) for text in texts) and all(
        text is None or isinstance(text, str) for text in texts
    ):
        return pd.DataFrame({"text": list(value)})
    return value


def _is_from(package: str, value: Any, attribute: str) -> bool:
    """Whether a class of this package, or a subclass of one, has the attribute."""
    packages = {each.__module__.partition(".")[0] for each in type(value).__mro__}
    return package in packages and hasattr(value, attribute)


def to_pandas(value: Any) -> Any:
    """A pandas object for one of polars, pyarrow or another library that can convert it."""
    value = value.collect() if _is_from("polars", value, "collect") else value
    return value.to_pandas() if hasattr(value, "to_pandas") else value


def _to_dense(matrix: Any) -> Any:
    size = 4 * int(np.prod(matrix.shape, dtype=object))
    if size > LARGEST_DENSE:
        gigabytes = f"{size / 2**30:.0f} GiB as an array {list(matrix.shape)}"
        raise InputError(f"the sparse inputs would take {gigabytes}; reduce them, as with TruncatedSVD.")
    with np.errstate(over="ignore"):  # infinite values are reported later
        return (matrix.astype(np.float32) if matrix.dtype.kind in "biuf" else matrix).toarray()


def _split_columns(dataset: Any) -> tuple[Any, Any]:
    """(a frame or the pictures, labels or None) of a Hugging Face Dataset; classes with names give these."""
    plain = dataset.with_format(None)
    kinds = {name: type(feature).__name__ for name, feature in plain.features.items()}
    column = next((name for name in LABEL_COLUMNS if name in kinds), None)
    labels = None if column is None else list(plain[column])
    if column is not None and kinds.pop(column) == "ClassLabel":
        names = plain.features[column].names
        labels = [None if label is None or label < 0 else names[label] for label in labels or ()]
    if "Image" not in kinds.values():
        return plain.select_columns(list(kinds)).to_pandas(), labels
    if len(kinds) > 1:
        found = ", ".join(map(repr, kinds))
        raise InputError(f"the Dataset has the columns {found}; keep one of images with select_columns.")
    return list(plain[next(iter(kinds))]), labels


def _is_dataset(value: Any) -> bool:
    """Whether it is a torch Dataset with a length, or a list of pairs. Arrays and frames have a shape."""
    indexable = hasattr(value, "__len__") and hasattr(value, "__getitem__")
    return indexable and not hasattr(value, "shape") and not isinstance(value, Mapping | tuple | str | bytes)


def _rows_of(loader: Any) -> list[Any]:
    """The pairs in the batches of a DataLoader."""
    if loader.batch_size is None:
        return list(loader)
    return [pair for batch in loader for pair in zip(*batch, strict=True)]


def _collect(pairs: Any) -> tuple[list[Any], list[Any]]:
    """Fetch every item of a Dataset once. This freezes its random augmentation."""
    source = type(pairs).__name__
    inputs, labels = [], []
    for row in range(len(pairs)):
        item = pairs[row]
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise InputError(f"{source}: item {row} is not a pair; return (input, label) from the Dataset.")
        value, label = item
        is_array = not isinstance(value, Image | str)
        inputs.append(as_array(value, source, f"the input of item {row}") if is_array else value)
        labels.append(label)
    if not inputs:
        raise InputError(f"{source}: the Dataset is empty; give at least one example of each class.")
    return inputs, labels

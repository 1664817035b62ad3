"""Inputs and labels in canonical form.

Inputs are an array in memory or `LazyInputs`: pictures decoded, or vectors read, on demand. Labels are class
numbers.
"""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from numbers import Real
from pathlib import Path
from typing import Any
from weakref import finalize

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.errors import InputError

CHANNEL_COUNTS = (1, 3, 4)  # grey, colour, colour with alpha: how the channel axis of pictures is recognised
PADDING = 4
"""Black pixels on every side of a picture that is cropped without resizing, as usual for CIFAR."""

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class View:
    """Which crop of a picture to take. The default is the centre crop."""

    flip: bool = False
    """Mirror left and right."""
    down: float = 0.5
    across: float = 0.5
    """Position of the crop in [0, 1), between its first and its last possible place."""


class LazyInputs(ABC):
    """Pictures [n, channels, height, width] uint8 that are decoded on demand.

    Code that reads rows works with this or with an array.
    """

    dtype: np.dtype[Any] = np.dtype(np.uint8)
    ndim = 4

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """[n, channels, height, width]."""

    @property
    @abstractmethod
    def digest(self) -> bytes:
        """Stands for the content in the fingerprint of the data."""

    @abstractmethod
    def read(self, row: int, view: View = View()) -> npt.NDArray[np.uint8]:  # noqa: B008 - frozen
        """One picture, [channels, height, width]."""

    def content(self, row: int) -> bytes:
        """What determines the picture, such as the bytes of its file."""
        return self.read(row).tobytes()

    @abstractmethod
    def take(self, rows: Sequence[int] | Labels) -> "LazyInputs":
        """Only these rows, in this order."""

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> npt.NDArray[np.uint8]:
        """One picture for an integer, stacked pictures for a slice or an array of row numbers."""
        if isinstance(rows, int | np.integer):
            return self.read(int(rows))
        return np.stack([self.read(int(row)) for row in np.arange(len(self))[rows]])


class Rows(LazyInputs):
    """Vectors [n, width] float32 in a .npy file, read on demand, so that they need no memory.

    `rows` are the numbers of those in the file that count, in order; by default all.
    """

    dtype = np.dtype(np.float32)
    ndim = 2

    def __init__(
        self, path: Path, shape: tuple[int, int], rows: Labels | None = None, whole: "Rows | None" = None
    ) -> None:
        self.path, self._shape, self._rows = path, shape, rows
        self._whole = whole  # a temporary file lasts as long as this
        self._offset = len(npy_header(shape))

    @property
    def shape(self) -> tuple[int, ...]:
        """[n, width]."""
        return (self._shape[0] if self._rows is None else len(self._rows), self._shape[1])

    @property
    def digest(self) -> bytes:
        """Digest of the file's folder, which is named after its content, and of the row numbers."""
        digest = hashlib.blake2b(f"{self.path.parent.name},{self._shape};".encode())
        digest.update(b"" if self._rows is None else self._rows.data)
        return digest.digest()

    def read(self, row: int, view: View = View()) -> npt.NDArray[Any]:  # noqa: B008 - frozen
        """One vector, [width]."""
        return np.asarray(self[[row]][0])

    def take(self, rows: Any) -> "Rows":
        """Only these rows, in this order."""
        chosen = np.asarray(rows, np.int64)
        rows = chosen if self._rows is None else self._rows[chosen]
        return Rows(self.path, self._shape, rows, self._whole or self)

    def __getitem__(self, rows: Any) -> npt.NDArray[Any]:
        """One vector for an integer, vectors [m, width] for a slice or an array of row numbers."""
        if isinstance(rows, int | np.integer):
            return self.read(int(rows))
        if isinstance(rows, slice) and self._rows is None and rows.step in (None, 1):
            start, stop, _ = rows.indices(len(self))
            count, width = max(stop - start, 0), self._shape[1]
            place = self._offset + 4 * width * start
            return np.fromfile(self.path, np.float32, count * width, offset=place).reshape(count, width)
        chosen = np.arange(len(self))[rows] if isinstance(rows, slice) else np.asarray(rows, np.int64)
        chosen, size = chosen if self._rows is None else self._rows[chosen], 4 * self._shape[1]
        # Not by a memory map, whose pages would count as this process's memory.
        file = self._file
        parts = [os.pread(file, size, self._offset + size * row) for row in chosen.tolist()]
        return np.frombuffer(bytearray().join(parts), np.float32).reshape(len(chosen), -1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return self[:]

    @cached_property
    def _file(self) -> int:
        file = os.open(self.path, os.O_RDONLY)
        finalize(self, os.close, file)
        return file


def npy_header(shape: tuple[int, ...]) -> bytes:
    """The first bytes of a .npy file of float32 values in this shape."""
    header = BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": tuple(shape)}
    )
    return header.getvalue()


Inputs = npt.NDArray[Any] | LazyInputs


def highest_value(inputs: Inputs) -> float:
    """The largest finite value among all inputs; 255 for lazy ones, which hold bytes."""
    if isinstance(inputs, LazyInputs):
        return 255.0
    highest = float(inputs.max())
    return highest if np.isfinite(highest) else float(inputs[np.isfinite(inputs)].max(initial=0.0))


def canonical_inputs(values: Any, source: str = "inputs") -> npt.NDArray[Any]:
    """Feature vectors as [n, features] float32, pictures as [n, channels, height, width] uint8 or float32.

    Pictures may come as [n, height, width] or with channels last. The result may share memory with `values`.
    `source` names the data in error messages.
    """
    array = as_array(values, source, "inputs")
    if array.dtype.kind not in "biuf":
        remedy = "give real numbers: .toarray() of a sparse matrix, or named columns of a frame with text"
        raise InputError(f"{source}: inputs have type {array.dtype}; {remedy}.")
    if array.ndim not in (2, 3, 4):
        raise InputError(f"{source}: inputs have shape {list(array.shape)}; give vectors or images.")
    if array.size == 0:
        raise InputError(f"{source}: inputs of shape {list(array.shape)} are empty; add examples.")
    if array.ndim == 3:
        array = array[:, np.newaxis]
    elif array.ndim == 4 and array.shape[3] in CHANNEL_COUNTS and array.shape[1] not in CHANNEL_COUNTS:
        array = array.transpose(0, 3, 1, 2)
    return np.ascontiguousarray(_canonical_type(array, source))


def as_array(values: Any, source: str, what: str) -> npt.NDArray[Any]:
    """`np.asarray(values)`, with an `InputError` for ragged lists and tensors on a GPU."""
    try:
        return np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        remedy = ".detach().cpu().numpy()" if hasattr(values, "detach") else "a NumPy array"
        raise InputError(f"{source}: {what} cannot become an array ({reason}); give {remedy}.") from None


def _canonical_type(array: npt.NDArray[Any], source: str) -> npt.NDArray[Any]:
    """uint8 for pictures of whole numbers from 0 to 255, float32 for everything else."""
    if array.ndim == 4 and array.dtype.kind in "biu" and array.min() >= 0 and array.max() <= 255:
        return array.astype(np.uint8, copy=False)
    with np.errstate(over="ignore"):
        converted = array.astype(np.float32, copy=False)
    finite = np.isfinite(converted).reshape(len(converted), -1).all(axis=1)
    row = first(np.asarray(~finite))
    if row is not None:
        if np.isfinite(array[row]).all():
            raise InputError(f"{source}: a value in row {row} overflows float32; rescale the inputs.")
        raise InputError(f"{source}: row {row} holds NaN or infinity; fix or remove that example.")
    return converted


def label_array(values: Any, source: str, what: str = "label") -> npt.NDArray[Any]:
    """Labels [n] of any type as an array."""
    if isinstance(values, list | tuple):  # as Python objects: NumPy would turn ["a", nan, 3] into strings
        plain = [value.item() if getattr(value, "shape", None) == () else value for value in values]
        values = pd.Series(plain, dtype=object)
    if isinstance(values, pd.Series) and not isinstance(values.dtype, np.dtype):
        values = values.to_numpy(dtype=object)
    array = as_array(values, source, f"{what}s")
    if array.dtype.kind == "T":  # NumPy's strings of variable width
        array = array.astype(object)
    if array.ndim != 1:
        raise InputError(f"{source}: {what}s have shape {list(array.shape)}; give one {what} per example.")
    return array


def is_missing(labels: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """[n], true for None, NaN and blank text."""
    missing = np.asarray(pd.isna(labels)) if labels.dtype.kind in "Of" else np.zeros(len(labels), bool)
    if labels.dtype.kind in "OU":
        blank = [isinstance(label, str) and not label.strip() for label in labels]
        missing = missing | np.array(blank, bool)
    return missing


def read_labels(values: Any, source: str, what: str = "label") -> npt.NDArray[Any]:
    """Labels [n] as non-negative int64 numbers or as non-empty strings; `what` names them in messages."""
    array = label_array(values, source, what)
    row = first(is_missing(array))
    if row is not None:
        raise InputError(f"{source}: {what} in row {row} is missing; fill it in or remove that example.")
    if array.dtype.kind == "O":
        kind = str if len(array) and isinstance(array[0], str) else Real
        row = first(np.array([not isinstance(value, kind) for value in array], bool))
        if row is not None:
            problem = f"{what} in row {row} has type {type(array[row]).__name__}"
            raise InputError(f"{source}: {problem}; give only numbers or only strings.")
        array = np.array(array.tolist(), dtype=str if kind is str else None)
    if array.dtype.kind == "U":
        return array
    if array.dtype.kind not in "biuf":
        raise InputError(f"{source}: {what}s have type {array.dtype}; give whole numbers or strings.")
    if array.dtype.kind != "b":
        row = first((array < 0) | (array >= 2**63) | (array != np.floor(array)))
        if row is not None:
            problem = f"{what} in row {row} is {array[row]}"
            raise InputError(f"{source}: {problem}; number the classes from 0 to k-1.")
    return array.astype(np.int64)


def first(flags: npt.NDArray[np.bool_]) -> int | None:
    """Number of the first true flag, for error messages."""
    return int(np.argmax(flags)) if flags.any() else None


def find_class_names(labels: npt.NDArray[Any], source: str) -> tuple[str, ...]:
    """The sorted distinct strings, or "0" … "k-1", where every number must occur."""
    distinct = np.unique(labels)
    if labels.dtype.kind == "U":
        return tuple(str(name) for name in distinct)
    gaps = np.flatnonzero(distinct != np.arange(len(distinct)))
    if len(gaps):
        raise InputError(f"{source}: class {gaps[0]} has no example; add one or renumber the classes.")
    return tuple(str(number) for number in range(len(distinct)))


def encode_labels(
    labels: npt.NDArray[Any], class_names: Sequence[str], source: str, what: str = "label"
) -> Labels:
    """The result of `read_labels` as class numbers [n]."""
    if labels.dtype.kind == "U":
        number_of = {name: number for number, name in enumerate(class_names)}
        encoded = np.array([number_of.get(str(name), -1) for name in labels], dtype=np.int64)
    else:
        encoded = np.where(labels < len(class_names), labels, -1)
    row = first(encoded < 0)
    if row is not None:
        classes = f"none of the {len(class_names)} classes"
        raise InputError(f"{source}: {what} in row {row} is {labels[row]}, {classes}; correct or remove it.")
    return encoded

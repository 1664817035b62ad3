"""Bring labels of any usual type to int64 numbers 0 … k − 1 and the names of the k classes."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.errors import InputError

CHANNEL_COUNTS = (1, 3, 4)  # grey, colour, colour with opacity: how an image's channel axis is recognised


def canonical_inputs(values: Any, source: str = "inputs") -> npt.NDArray[Any]:
    """Feature vectors as [n, features] float32, images as [n, channels, height, width] uint8 or float32.

    Pictures may come as [n, height, width] or with the channels last. The result may share their memory.
    """
    array = as_array(values, source, "inputs")
    if array.dtype.kind not in "biuf":
        remedy = "convert them to real numbers"
        if hasattr(values, "toarray"):
            remedy = "give .toarray(), for they are sparse"
        elif hasattr(values, "columns"):
            remedy = (
                "convert every column to real numbers, or give all columns names, so that text is encoded"
            )
        raise InputError(f"{source}: inputs have type {array.dtype}; {remedy}.")
    if array.ndim not in (2, 3, 4):
        raise InputError(
            f"{source}: inputs have shape {list(array.shape)}; give [n, features], [n, height, width] or "
            "[n, channels, height, width]."
        )
    if array.size == 0:
        raise InputError(
            f"{source}: inputs of shape {list(array.shape)} are empty; give at least one example."
        )
    return np.ascontiguousarray(_canonical_type(_channels_first(array), source))


def as_array(values: Any, source: str, what: str) -> npt.NDArray[Any]:
    """NumPy's view of `values`, or one sentence where there is none (ragged lists, tensors on a GPU)."""
    try:
        return np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        remedy = ".detach().cpu().numpy()" if hasattr(values, "detach") else "a NumPy array"
        raise InputError(f"{source}: {what} cannot become an array ({reason}); give {remedy}.") from None


def _channels_first(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.ndim == 3:
        return array[:, np.newaxis]
    if array.ndim == 4 and array.shape[3] in CHANNEL_COUNTS and array.shape[1] not in CHANNEL_COUNTS:
        return array.transpose(0, 3, 1, 2)
    return array


def _canonical_type(array: npt.NDArray[Any], source: str) -> npt.NDArray[Any]:
    """uint8 for images of whole numbers from 0 to 255, float32 for everything else."""
    if array.ndim == 4 and array.dtype.kind in "biu" and array.min() >= 0 and array.max() <= 255:
        return array.astype(np.uint8, copy=False)
    with np.errstate(over="ignore"):  # reported below, with the row
        converted = array.astype(np.float32, copy=False)
    finite = np.isfinite(converted).reshape(len(converted), -1).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        if np.isfinite(array[row]).all():
            raise InputError(f"{source}: a value in row {row} overflows float32; rescale the inputs.")
        raise InputError(
            f"{source}: row {row} holds NaN or an infinite value; repair or remove that example."
        )
    return converted


Labels = npt.NDArray[np.int64]


def read_labels(values: Any, source: str, what: str = "label") -> npt.NDArray[Any]:
    """Labels [n] as int64, none negative, or as strings, none empty; `what` is their name in messages."""
    # A list goes through Python objects: NumPy would turn ["a", nan, 3] into three strings without a word.
    listed = isinstance(values, list | tuple)
    array = _list_of_objects(values) if listed else as_array(values, source, f"{what}s")
    if array.ndim != 1:
        raise InputError(f"{source}: {what}s have shape {list(array.shape)}; give one {what} per example.")
    if array.dtype.kind == "O":
        array = _plain_array(array, source, what)
    if array.dtype.kind == "U":
        _refuse_missing(array == "", source, what)
        for name in np.unique(array):
            if not is_text(str(name)):
                raise InputError(f"{source}: {what} {str(name)!r} is not valid text; rename the class.")
        return array
    if array.dtype.kind not in "biuf":
        raise InputError(f"{source}: {what}s have type {array.dtype}; give whole numbers or strings.")
    return _whole_numbers(array, source, what)


def find_class_names(labels: npt.NDArray[Any], source: str) -> tuple[str, ...]:
    """The sorted distinct strings; or "0" … "k − 1", where each of these numbers must occur."""
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
    """The result of `read_labels` as int64 numbers [n] below the number of classes."""
    if labels.dtype.kind == "U":
        number_of = {name: number for number, name in enumerate(class_names)}
        encoded = np.array([number_of.get(str(name), -1) for name in labels], dtype=np.int64)
    else:
        encoded = np.where(labels < len(class_names), labels, -1)
    known = encoded >= 0
    if not known.all():
        row = int(np.argmin(known))
        raise InputError(
            f"{source}: {what} in row {row} is {labels[row]}, which is none of the {len(class_names)} "
            "classes; correct it or give its class a name and an example."
        )
    return encoded


def _list_of_objects(values: Sequence[Any]) -> npt.NDArray[Any]:
    """A one-dimensional array of the list's items, whatever they are; tensors of no dimension as numbers."""
    array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        array[row] = value.item() if getattr(value, "shape", None) == () else value
    return array


def _plain_array(objects: npt.NDArray[Any], source: str, what: str) -> npt.NDArray[Any]:
    """An array of Python objects as an array of strings or of numbers."""
    missing = np.array([value is None or (isinstance(value, float) and value != value) for value in objects])
    _refuse_missing(missing, source, what)
    kind = str if isinstance(next(iter(objects), None), str) else Real
    same = np.array([isinstance(value, kind) for value in objects], dtype=bool)
    if not same.all():
        row = int(np.argmin(same))
        raise InputError(
            f"{source}: {what} in row {row} has type {type(objects[row]).__name__}; "
            "give whole numbers only or strings only."
        )
    return np.array(objects.tolist(), dtype=str if kind is str else None)


def _whole_numbers(array: npt.NDArray[Any], source: str, what: str) -> Labels:
    if array.dtype.kind == "b":
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        _refuse_missing(np.isnan(array), source, what)
    with np.errstate(invalid="ignore"):  # infinity has no remainder; it fails the comparison
        whole = (array >= 0) & (array < 2**63) & (np.mod(array, 1) == 0 if array.dtype.kind == "f" else True)
    if not whole.all():
        row = int(np.argmin(whole))
        raise InputError(
            f"{source}: {what} in row {row} is {array[row]}; {what}s must be whole numbers from 0 to k-1, "
            "so renumber the classes."
        )
    return array.astype(np.int64)


def is_text(name: str) -> bool:
    """Whether the name can be written as UTF-8; half a surrogate pair cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def as_text(name: str) -> str:
    """The name, with ? for what cannot be written as UTF-8."""
    return name.encode("utf-8", "replace").decode()


def _refuse_missing(missing: npt.NDArray[np.bool_], source: str, what: str) -> None:
    if missing.any():
        row = int(np.argmax(missing))
        raise InputError(f"{source}: {what} in row {row} is missing; fill it in or remove that example.")

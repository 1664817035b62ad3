"""Bring inputs of any usual shape and type to the two forms that the rest of the package knows.

Messages count rows from 0, as NumPy and the per-example outputs of a run do.
"""

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

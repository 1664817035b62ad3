"""Arrays as PNG pictures inside a data URI, so that a page needs no other file."""

import base64
import io

import numpy as np
import numpy.typing as npt
from PIL import Image

from noiselimit.errors import InputError

_LONGEST_SIDE = 160


def data_uri(image: npt.NDArray[np.generic]) -> str:
    """PNG data URI of a picture [H, W] or [C, H, W], C being 1 (grey) or 3 (red, green, blue).

    uint8 is taken as it is. Floats in [0, 1] are multiplied by 255; other numbers, such as normalised
    inputs, are stretched from their least to their greatest. NaN is black. Pictures with a side longer
    than 160 pixels are reduced; small ones keep their pixels, and the style sheet enlarges them.
    """
    picture = Image.fromarray(pixels(image))
    picture.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def pixels(image: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    """uint8 array [H, W] or [H, W, 3]."""
    array = image[None] if image.ndim == 2 else image
    if array.ndim != 3 or array.shape[0] not in (1, 3) or 0 in array.shape:
        raise InputError(f"a picture has shape {list(image.shape)}: pass [H, W], [1, H, W] or [3, H, W].")
    values = array if array.dtype == np.uint8 else _to_bytes(array.astype(np.float64))
    grey_or_colour = values[0] if values.shape[0] == 1 else np.moveaxis(values, 0, -1)
    return np.ascontiguousarray(grey_or_colour, dtype=np.uint8)


def _to_bytes(values: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if low < 0.0 or high > 1.0:
        values = (values - low) / (high - low) if high > low else np.zeros_like(values)
    return np.rint(255 * np.clip(np.nan_to_num(values, nan=0.0), 0.0, 1.0)).astype(np.uint8)

"""NumPy's .npy format, read so that a header is believed only as far as there are bytes behind it."""

import ast
import math
import re
import struct
from typing import IO, Any

import numpy as np
import numpy.typing as npt

MAGIC = b"\x93NUMPY"
LONGEST_HEADER = 10_000  # NumPy's own bound: longer texts can exhaust Python's parser
PIECE = 2**20
KINDS = "biufcmMSU"  # neither Python objects nor records
PYTHON_2 = re.compile(r"(?<=\d)L\b")  # it wrote whole numbers as 60L


class NotAnArrayError(ValueError):
    """What is wrong with an array, to stand in brackets."""


def read_npy(stream: IO[bytes], size: int) -> npt.NDArray[Any]:
    """The array in a stream of `size` bytes; bytes behind it do not count."""
    dtype, shape, column_major, start = _read_header(stream, size)
    declared = dtype.itemsize * math.prod(shape)
    if declared > size - start:
        raise NotAnArrayError(f"its header declares {declared:,} bytes but {size - start:,} follow")
    values = np.empty(declared, np.uint8)
    done = 0
    while done < declared:  # in pieces, since a member of an archive copies what it hands out
        piece = stream.read(min(PIECE, declared - done))
        if not piece:
            raise NotAnArrayError("it is cut off before its end")
        values[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
        done += len(piece)
    try:
        array: npt.NDArray[Any] = np.ndarray(shape, dtype, values.data, order="F" if column_major else "C")
    except (ValueError, TypeError):  # an empty array whose other sides no machine can count
        raise NotAnArrayError(f"its shape {shape} is not possible") from None
    return _meant(array)


def _read_header(stream: IO[bytes], size: int) -> tuple[np.dtype[Any], tuple[int, ...], bool, int]:
    """(type, shape, whether columns come first, where the values begin)."""
    start = stream.read(8)
    if len(start) < 8 or start[:6] != MAGIC or start[6] not in (1, 2, 3):
        raise NotAnArrayError("it is no NumPy array")
    field = "<H" if start[6] == 1 else "<I"
    written = stream.read(struct.calcsize(field))
    length = struct.unpack(field, written)[0] if len(written) == struct.calcsize(field) else size
    if length > min(LONGEST_HEADER, size):
        raise NotAnArrayError("its header is damaged")
    text = stream.read(length)
    try:
        header = ast.literal_eval(
            PYTHON_2.sub("", text.decode("utf-8" if start[6] == 3 else "latin-1")).strip()
        )
        shape, column_major = header["shape"], header["fortran_order"]
        dtype = np.lib.format.descr_to_dtype(header["descr"])
    except (ValueError, TypeError, KeyError, SyntaxError, RecursionError, MemoryError, OverflowError):
        raise NotAnArrayError("its header is damaged") from None
    if dtype.hasobject:
        raise NotAnArrayError("it holds Python objects")
    if dtype.kind not in KINDS or dtype.subdtype is not None:
        raise NotAnArrayError(f"its type is {dtype}")
    if (
        not isinstance(shape, tuple)
        or not all(type(side) is int and 0 <= side < 2**63 for side in shape)
        or len(shape) > 32
        or type(column_major) is not bool
    ):
        raise NotAnArrayError("its header is damaged")
    return dtype, shape, column_major, len(start) + len(written) + len(text)


def _meant(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array without values that its type cannot have."""
    if array.dtype.kind == "b":
        return np.asarray(array.view(np.uint8) != 0)
    if array.dtype.kind == "U" and array.size and array.dtype.itemsize:
        letters = np.frombuffer(array.tobytes(), array.dtype.byteorder.replace("|", "=") + "u4")
        if letters.max() > 0x10FFFF:
            raise NotAnArrayError("it holds text that is no Unicode")
    return array

"""What the names in a pickle of NumPy arrays stand for: a few marks that this module alone can tell apart.

NumPy's own functions for the purpose are never reached, since they also make arrays of objects.
"""

import math
import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import numpy as np
import numpy.typing as npt

NUMBER_TYPES = re.compile(r"b1|[iu][1248]|f[248]")
MOST_DIMENSIONS = 8


class Name(Enum):
    """A name that a pickle of an array may mention."""

    BYTES = auto()
    ENCODE = auto()
    RECONSTRUCT = auto()
    ARRAY = auto()
    TYPE = auto()


# As pickletools spells a global; NumPy moved numpy.core to numpy._core in version 2.
NAMES = {
    "__builtin__ bytes": Name.BYTES,
    "_codecs encode": Name.ENCODE,
    "numpy.core.multiarray _reconstruct": Name.RECONSTRUCT,
    "numpy._core.multiarray _reconstruct": Name.RECONSTRUCT,
    "numpy ndarray": Name.ARRAY,
    "numpy dtype": Name.TYPE,
}


@dataclass(eq=False)
class PendingType:
    """The type of an array's numbers: first its code, such as u1, then its byte order."""

    code: str
    order: str | None = None

    def finished(self) -> "PendingType":
        return self


@dataclass(eq=False)
class PendingArray:
    """An array that is announced first and described later, as pickles do it."""

    values: npt.NDArray[Any] | None = None

    def finished(self) -> "npt.NDArray[Any] | PendingArray":
        return self if self.values is None else self.values


def call(function: Any, arguments: Any) -> bytes | PendingArray | PendingType | None:
    """What the call of a name means; None where it has no meaning."""
    match function, arguments:
        # Python 3 has two ways to write bytes in protocol 2.
        case Name.BYTES, ():
            return b""
        case Name.ENCODE, (str(text), "latin1"):
            return text.encode("latin-1")
        case Name.RECONSTRUCT, (Name.ARRAY, (0,), b"b"):
            return PendingArray()
        case Name.TYPE, (code, 0 | 1, 0 | 1) if NUMBER_TYPES.fullmatch(_text(code)):
            return PendingType(_text(code))
    return None


def build(target: PendingArray | PendingType, state: Any) -> bool:
    """Complete the array or type; false where the state is not that of plain numbers."""
    match target, state:
        case PendingType(), (3, order, None, None, None, -1, -1, 0) if _text(order) in ("<", ">", "|", "="):
            target.order = _text(order)
            return True
        case PendingArray(), (
            1,
            tuple(shape),
            PendingType(code, str(order)),
            0 | 1 as column_major,
            bytes(data),
        ):
            target.values = _array(data, np.dtype(order + code), shape, "F" if column_major else "C")
            return True
    return False


def _array(data: bytes, dtype: np.dtype[Any], shape: tuple[Any, ...], order: Any) -> npt.NDArray[Any]:
    """A view of the bytes as numbers; a shape that does not fit them is a ValueError."""
    if len(shape) > MOST_DIMENSIONS or not all(type(size) is int and 0 <= size < 2**31 for size in shape):
        raise ValueError("impossible shape")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError("the array's bytes do not fill its shape")
    return np.frombuffer(data, dtype).reshape(shape, order=order)


def _text(value: Any) -> str:
    """A string, also where Python 2 wrote it."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else ""

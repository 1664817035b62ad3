"""Mean and standard deviation of chosen inputs, which every row standardises its own by."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noiselimit.data.lazy import Inputs, LazyInputs

Floats = npt.NDArray[np.float32]


def statistics(inputs: Inputs, rows: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Mean and standard deviation over examples (and pixels); a constant channel or feature gets std 1.

    Two passes in pieces: the squares of a large mean would drown a small deviation, and a float64 copy of
    everything would not fit beside large data.
    """
    axes = (0, 2, 3) if inputs.ndim == 4 else (0,)
    pieces = np.array_split(rows, len(rows) // (64 if isinstance(inputs, LazyInputs) else 4096) + 1)
    count = len(rows) * (math.prod(inputs.shape[2:]) if inputs.ndim == 4 else 1)
    mean = sum(inputs[piece].sum(axes, dtype=np.float64) for piece in pieces) / count
    shape = (-1, 1, 1) if inputs.ndim == 4 else (-1,)
    centre = np.asarray(mean, np.float64).reshape(shape)
    with np.errstate(invalid="ignore"):  # inputs that are infinite by now fail the run, in a sentence
        squares = sum(np.square(inputs[piece] - centre).sum(axes) for piece in pieces)
    std = np.sqrt(np.asarray(squares, np.float64) / count).reshape(shape)
    narrow = std.astype(np.float32)  # where the smallest deviations vanish
    return centre.astype(np.float32), np.where(narrow > 0, narrow, np.float32(1))


@dataclass(frozen=True, eq=False)
class PictureSums:
    """Sums over the pixels of each picture, from which the statistics of any choice of them follow quickly.

    For pictures of bytes only: their sums are whole numbers, and whole numbers lose no digits.
    """

    values: npt.NDArray[np.int64]
    squares: npt.NDArray[np.int64]
    """[n, channels]."""
    pixels: int

    @classmethod
    def of(cls, inputs: Inputs) -> "PictureSums | None":
        """None where the inputs are no pictures of bytes in memory."""
        if isinstance(inputs, LazyInputs) or inputs.ndim != 4 or inputs.dtype != np.uint8:
            return None
        flat = inputs.reshape(*inputs.shape[:2], -1)
        pieces = np.array_split(flat, len(flat) // 4096 + 1)
        values = np.concatenate([piece.sum(-1, dtype=np.int64) for piece in pieces])
        squares = np.concatenate(
            [np.square(piece, dtype=np.uint16).sum(-1, dtype=np.int64) for piece in pieces]
        )
        return cls(values, squares, flat.shape[-1])

    def statistics(self, rows: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        """As `statistics` of these rows, but exact until the last step."""
        count = len(rows) * self.pixels
        means, stds = [], []
        for total, square in zip(self.values[rows].sum(0), self.squares[rows].sum(0), strict=True):
            means.append(int(total) / count)
            stds.append(math.sqrt((int(square) * count - int(total) ** 2) / count**2))
        shape = (-1, 1, 1)
        std = np.asarray(stds, np.float32).reshape(shape)
        return np.asarray(means, np.float32).reshape(shape), np.where(std > 0, std, np.float32(1))

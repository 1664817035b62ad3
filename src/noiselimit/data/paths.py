"""File names by the million: one string of bytes and where each name ends, a tenth of a list of strings."""

import os
from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt


class Paths(Sequence[str]):
    """Names relative to some folder, in order; as strings they can be written anywhere."""

    def __init__(self, names: Iterable[str | bytes]) -> None:
        blob, ends = bytearray(), [0]
        for name in names:
            blob += os.fsencode(name)
            ends.append(len(blob))
        self.blob = bytes(blob)
        self.ends: npt.NDArray[np.int64] = np.array(ends, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.ends) - 1

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> "Paths": ...
    def __getitem__(self, row: int | slice) -> "str | Paths":
        if isinstance(row, slice):
            return self.take(range(*row.indices(len(self))))
        return self.encoded(row).decode("utf-8", "replace")

    def encoded(self, row: int) -> bytes:
        """The name as the file system has it, which need not be text."""
        row = range(len(self))[row]
        return self.blob[self.ends[row] : self.ends[row + 1]]

    def take(self, rows: Iterable[int]) -> "Paths":
        """These names alone, in this order."""
        return Paths(self.encoded(int(row)) for row in rows)

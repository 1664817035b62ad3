"""Inputs that are decoded when they are asked for, because all of them together do not fit in memory."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

PADDING = 4
"""Black pixels on every side of a picture that is not scaled before its window is cut, as usual for CIFAR."""


@dataclass(frozen=True)
class View:
    """Which cut of a picture to take: the one that training draws, or by default the middle one."""

    flip: bool = False
    """Left becomes right."""
    down: float = 0.5
    across: float = 0.5
    """Where in [0, 1) the window lies between the first and the last place it may have."""


class LazyInputs(ABC):
    """Pictures [n, channels, height, width] uint8 behind a few of an array's own words.

    What reads examples by rows takes either this or an array; only what must hold all tells them apart.
    """

    dtype = np.dtype(np.uint8)
    ndim = 4

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """[n, channels, height, width]."""

    @property
    @abstractmethod
    def digest(self) -> bytes:
        """Stands for the content in the data's fingerprint."""

    @abstractmethod
    def read(self, row: int, view: View = View()) -> npt.NDArray[np.uint8]:  # noqa: B008 - frozen
        """One picture, [channels, height, width]."""

    def take(self, rows: Sequence[int]) -> "LazyInputs":
        """These pictures alone, in this order: what a process that decodes them must be told."""
        return _Chosen(self, tuple(rows))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> npt.NDArray[np.uint8]:
        """One picture for a number; for a slice or an array of numbers, those pictures stacked."""
        if isinstance(rows, int | np.integer):
            return self.read(int(rows))
        chosen = np.arange(len(self))[rows]
        return np.stack([self.read(int(row)) for row in chosen])


@dataclass(frozen=True, eq=False)
class _Chosen(LazyInputs):
    """Some rows of others."""

    whole: LazyInputs
    rows: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.rows), *self.whole.shape[1:])

    @property
    def digest(self) -> bytes:
        return self.whole.digest + repr(self.rows).encode()

    def read(self, row: int, view: View = View()) -> npt.NDArray[np.uint8]:  # noqa: B008 - frozen
        return self.whole.read(self.rows[row], view)


Inputs = npt.NDArray[Any] | LazyInputs
"""What the inputs of examples may be: all in memory, or read as they are needed."""


def highest_value(inputs: Inputs) -> float:
    """The largest number among all inputs; pictures that are read one by one hold bytes."""
    if isinstance(inputs, LazyInputs):
        return 255.0
    highest = float(inputs.max())
    return highest if np.isfinite(highest) else float(inputs[np.isfinite(inputs)].max(initial=0.0))

"""Noise with any transition matrix, from Python or from a file."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from noiselimit.errors import InputError
from noiselimit.noise.base import ClassNoise, Matrix, Parser, read_file

TOLERANCE = 1e-6  # of a row's sum, per class: more than rounding to six digits can amount to


@dataclass(frozen=True)
class MatrixNoise(ClassNoise):
    """An example with label i gets label j with the probability in row i, column j.

    Parameters
    ----------
    rows : array-like [k, k]
        Every row sums to 1. Stored as a tuple of tuples, so that equal noises are equal.
    source : str
        What error messages call the matrix.
    """

    kind: ClassVar[str] = "matrix"
    rows: Any
    source: str = field(default="the transition matrix", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", _check_rows(self.rows, self.source))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the matrix from a .npy, .csv, .txt or .json file."""
        parsers: dict[str, Parser] = {".csv": _parse_rows, ".txt": _parse_rows, ".json": json.loads}
        return cls(read_file(Path(text), "a transition matrix", parsers), text)

    @property
    def parameter(self) -> list[list[float]]:
        return [list(row) for row in self.rows]

    def transition(self, class_names: Sequence[str]) -> Matrix:
        matrix: Matrix = np.array(self.rows)
        classes = len(class_names)
        if len(matrix) != classes:
            shape = f"{classes} × {classes}"
            raise InputError(f"{self.source} has {len(matrix)} rows for {classes} classes: give {shape}.")
        matrix /= matrix.sum(axis=1, keepdims=True)
        return matrix


def _check_rows(values: Any, source: str) -> tuple[tuple[float, ...], ...]:
    try:
        matrix = np.asarray(values, dtype=np.float64) + 0.0  # no negative zero: a run's hash covers it
    except (ValueError, TypeError, OverflowError):
        raise InputError(f"{source}: the rows must be numbers and equally long; correct them.") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise InputError(f"{source}: the shape is {list(matrix.shape)}; give a row and a column per class.")
    sums = matrix.sum(axis=1)
    valid = (matrix >= 0).all(axis=1) & (np.abs(sums - 1) <= TOLERANCE * len(matrix))
    if not valid.all():
        row = int(np.argmin(valid))
        raise InputError(
            f"{source}: row {row} sums to {sums[row]:.9g}; give probabilities from 0 to 1 that sum to 1."
        )
    return tuple(tuple(row) for row in matrix.tolist())


def _parse_rows(text: str) -> list[list[float]]:
    """Parse numbers with commas or blanks between them."""
    lines = (line.strip() for line in text.splitlines())
    return [[float(word) for word in re.split(r"\s*,\s*|\s+", line)] for line in lines if line]

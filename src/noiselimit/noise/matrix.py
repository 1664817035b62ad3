"""Noise with any transition matrix, from Python or from a file."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, final

import numpy as np

from noiselimit.data.npz import read_npy
from noiselimit.errors import InputError
from noiselimit.files import open_regular, read_small_text
from noiselimit.noise.base import ClassNoise, Matrix

TOLERANCE = 1e-6  # of a row's sum, per class: more than rounding to six digits can amount to


@final
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
        if not text:
            raise InputError("noise 'matrix' needs a file: write matrix:FILE with a .npy or .csv file.")
        return cls(_read_rows(Path(text)), text)

    @property
    def parameter(self) -> list[list[float]]:
        return [list(row) for row in self.rows]

    def transition(self, class_names: Sequence[str]) -> Matrix:
        matrix: Matrix = np.array(self.rows)
        classes = len(class_names)
        if len(matrix) != classes:
            raise InputError(
                f"{self.source} has {len(matrix)} rows but the data have {classes} classes: "
                f"give a matrix of {classes} × {classes}."
            )
        matrix /= matrix.sum(axis=1, keepdims=True)
        return matrix


def _check_rows(values: Any, source: str) -> tuple[tuple[float, ...], ...]:
    try:
        matrix = np.asarray(values, dtype=np.float64) + 0.0  # no negative zero: a run's hash covers it
    except (ValueError, TypeError, OverflowError):
        raise InputError(f"{source}: the rows must be numbers and equally long, correct them.") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise InputError(
            f"{source}: the shape is {list(matrix.shape)}, give one row and one column per class."
        )
    valid = (matrix >= 0) & (matrix <= 1)
    if not valid.all():
        row, column = np.argwhere(~valid)[0]
        raise InputError(
            f"{source}: row {row}, column {column} is {matrix[row, column]}, give probabilities from 0 to 1."
        )
    sums = matrix.sum(axis=1)
    wrong = np.abs(sums - 1) > TOLERANCE * len(matrix)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(f"{source}: row {row} sums to {sums[row]:.9g}, rescale it to sum to 1.")
    return tuple(tuple(row) for row in matrix.tolist())


def _read_rows(path: Path) -> Any:
    """Read a .npy file, text with commas or blanks between numbers, or a JSON list of lists."""
    try:
        match path.suffix.lower():
            case ".npy":
                with open_regular(path) as file:
                    return read_npy(file)
            case ".csv" | ".txt":
                lines = (line.strip() for line in read_small_text(path).splitlines())
                return [[float(word) for word in re.split(r"\s*,\s*|\s+", line)] for line in lines if line]
            case ".json":
                return json.loads(read_small_text(path))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}), name a readable file.") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a readable matrix ({error}), write the file again.") from None
    raise InputError(f"{path}: a transition matrix must be a .npy, .csv, .txt or .json file.")

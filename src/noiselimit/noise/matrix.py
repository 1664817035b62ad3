"""Noise by any transition matrix, given in Python or in a file."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, cast, final

import numpy as np
import numpy.typing as npt

from noiselimit.data.npz import read_npy
from noiselimit.errors import InputError
from noiselimit.files import read_small_text
from noiselimit.noise.base import ClassNoise, Matrix

TOLERANCE = 1e-6  # of a row's sum, for each class: more than rounding to six digits can amount to


@final
@dataclass(frozen=True)
class MatrixNoise(ClassNoise):
    """An example of label i gets label j with the probability in row i, column j."""

    kind: ClassVar[str] = "matrix"
    rows: npt.ArrayLike  # [k, k]; kept as a tuple of tuples, so that equal noises are equal
    source: str = field(default="the transition matrix", compare=False)  # its name in messages

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", check_rows(self.rows, self.source))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """From the path of a .npy, .csv, .txt or .json file."""
        if not text:
            raise InputError(
                "noise 'matrix' names no file; write matrix:FILE with a .npy, .csv or .json file."
            )
        return cls(read_rows(Path(text)), text)

    @classmethod
    def from_parameter(cls, parameter: object) -> Self:
        return cls(parameter)  # type: ignore[arg-type]  # checked on creation

    @property
    def parameter(self) -> list[list[float]]:
        return [list(row) for row in self._checked]

    def transition(self, class_names: Sequence[str]) -> Matrix:
        matrix: Matrix = np.array(self._checked)
        classes = len(class_names)
        if len(matrix) != classes:
            raise InputError(
                f"{self.source} has {len(matrix)} rows but the data have {classes} classes; "
                f"give a matrix of {classes} × {classes}."
            )
        matrix /= matrix.sum(axis=1, keepdims=True)
        return matrix

    @property
    def _checked(self) -> tuple[tuple[float, ...], ...]:
        return cast(tuple[tuple[float, ...], ...], self.rows)


def check_rows(values: Any, source: str) -> tuple[tuple[float, ...], ...]:
    """The rows of a square matrix of probabilities in which every row sums to 1; `source` names it."""
    try:
        matrix = (
            np.asarray(values, dtype=np.float64) + 0.0
        )  # no negative zero: a run's hash covers the spelling
    except (ValueError, TypeError, OverflowError):
        raise InputError(f"{source}: the rows are not equally long rows of numbers; correct them.") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise InputError(
            f"{source}: the shape is {list(matrix.shape)}; give one row and one column per class."
        )
    possible = (matrix >= 0) & (matrix <= 1)
    if not possible.all():
        row, column = np.argwhere(~possible)[0]
        raise InputError(
            f"{source}: the entry in row {row}, column {column} is {matrix[row, column]}; "
            "probabilities lie between 0 and 1, so correct it."
        )
    sums = matrix.sum(axis=1)
    wrong = np.abs(sums - 1) > TOLERANCE * len(matrix)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"{source}: row {row} sums to {sums[row]:.9g}; every row must sum to 1, so rescale it."
        )
    return tuple(tuple(row) for row in matrix.tolist())


def read_rows(path: Path) -> Any:
    """The numbers in a .npy file, in text with commas or blanks between them, or in a JSON list of lists."""
    try:
        match path.suffix.lower():
            case ".npy":
                with path.open("rb") as file:
                    return read_npy(file)
            case ".csv" | ".txt":
                return _parse_text(read_small_text(path))
            case ".json":
                return json.loads(read_small_text(path))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name a readable file.") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as a matrix ({error}); write it anew.") from None
    raise InputError(f"{path}: a transition matrix must be a .npy, .csv, .txt or .json file; convert it.")


def _parse_text(text: str) -> list[list[float]]:
    lines = (line.strip() for line in text.splitlines())
    return [[float(word) for word in re.split(r"\s*,\s*|\s+", line)] for line in lines if line]

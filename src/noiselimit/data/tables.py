"""Tables of numbers, names, dates and text, and their encoding.

The encoding is fitted once, on all rows, and kept with a run so that new rows are encoded in the same way.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.data.columns import Column, Identifier, Numeric, Text, column_from_json
from noiselimit.errors import InputError, Notice

MOST_NAMED = 10


@dataclass(frozen=True)
class Table:
    """The columns of a table in the order of their features; `fit_table` makes one."""

    columns: tuple[Column, ...]
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What `fit_table` left out or filled in; not part of the JSON."""

    @property
    def features(self) -> int:
        """Number of features of a row."""
        return sum(column.width for column in self.columns)

    @property
    def is_numeric(self) -> npt.NDArray[np.bool_]:
        """[features]: which are numbers, to be standardised; the others are 0 or 1, or hashed names."""
        return np.array([flag for column in self.columns for flag in column.is_numeric], bool)

    def _places(self) -> list[tuple[Column, slice]]:
        """Each column and the places of its features."""
        ends = accumulate(column.width for column in self.columns)
        return [
            (column, slice(end - column.width, end)) for column, end in zip(self.columns, ends, strict=True)
        ]

    def encode(
        self, frame: pd.DataFrame, source: str = "the table", *, new: bool = False
    ) -> npt.NDArray[np.float32]:
        """Features [n, features] of rows that have all columns of the table, in any order.

        If they are new, a Notice counts cells that are taken for missing although they are not empty.
        """
        names = Counter(frame.columns)
        features = np.zeros((len(frame), self.features), np.float32)

        def encode(column: Column, place: slice) -> None:
            if names[column.name] != 1:
                found = "two columns are" if column.name in names else "no column is"
                raise InputError(f"{source}: {found} called '{column.name}'; give one, as in training.")
            count = column.encode(frame[column.name], features[:, place], source)
            if new and count:
                cells = f"{count} of {len(frame)} cells cannot be read"
                note = f"{source}: column '{column.name}': {cells}; they count as missing."
                warnings.warn(Notice(note), stacklevel=2)

        all_of(source, [partial(encode, *each) for each in self._places() if each[0].width])
        return features

    @property
    def is_matrix(self) -> bool:
        """Whether it was fitted to an array, whose columns have numbers as names."""
        return all(column.name == str(place) for place, column in enumerate(self.columns))

    def encode_new(self, rows: Any, source: str) -> Any:
        """Features of new rows: a frame, or an array if the table was fitted to one.

        An array of features comes back as it is.
        """
        if not is_table(rows):
            shape = np.shape(rows)
            if len(shape) != 2 or shape[1] != len(self.columns) or shape[1] == self.features:
                return rows
            rows = numbered(rows)
        return self.encode(rows, source, new=True)

    def kept(self, frame: pd.DataFrame) -> dict[str, npt.NDArray[Any]]:
        """Columns [n] for the outputs: identifiers, called `id_` and their name, and texts, `text_`."""
        names = list(frame.columns)
        return {
            output: frame[column.name].to_numpy()
            for column in self.columns
            if (output := kept_as(column)) is not None and names.count(column.name) == 1
        }

    def without_kept(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame without identifiers and texts."""
        return frame.drop(columns=[column.name for column in self.columns if kept_as(column) is not None])

    def arrays(self) -> dict[str, npt.NDArray[np.float32]]:
        """Weights of embedders that were fitted to this table, to store beside the JSON."""
        return {
            f"{place}.{name}": array
            for place, column in enumerate(self.columns)
            if isinstance(column, Text)
            for name, array in column.arrays.items()
        }

    def with_arrays(self, arrays: Mapping[str, npt.NDArray[np.float32]], *, trusted: bool) -> "Table":
        """The table as it was before it was stored."""

        def restore(place: int, column: Column) -> Column:
            if not isinstance(column, Text):
                return column
            prefix = f"{place}."
            own = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
            return replace(column, arrays=own, trusted=trusted)

        return replace(self, columns=tuple(restore(*each) for each in enumerate(self.columns)))

    def with_means(self, means: Sequence[float]) -> "Table":
        """With the means [features] of the training inputs, for numbers that are missing only later."""

        def prepare(column: Column, place: slice) -> Column:
            if isinstance(column, Numeric) and column.median is None:
                return replace(column, mean=float(means[place.start]))
            return replace(column, embed=None) if isinstance(column, Text) else column

        return replace(self, columns=tuple(prepare(*each) for each in self._places()))

    def to_json(self) -> list[dict[str, Any]]:
        """One object per column."""
        return [column.to_json() for column in self.columns]

    @staticmethod
    def from_json(value: Any) -> "Table":
        """The inverse of `to_json`; other values raise an exception that `load_run` reports."""
        columns = tuple(column_from_json(item) for item in value)
        require_distinct_names([column.name for column in columns], "the table")
        table = Table(columns)
        if not table.features or table.to_json() != value:
            raise ValueError("a table is a list of columns")
        return table


class TableError(InputError):
    """Several problems of one file in one message."""

    def __init__(self, source: str, problems: list[str]) -> None:
        self.problems = problems
        numbered = " ".join(f"({number}) {problem}" for number, problem in enumerate(problems, 1))
        several = f"{len(problems)} problems. {numbered}"
        super().__init__(f"{source}: {several if len(problems) > 1 else problems[0]}")


def all_of(source: str, steps: Iterable[Callable[[], Any]]) -> list[Any]:
    """The results of all steps, or one InputError with the problems of all that failed."""
    results, problems = [], []
    for step in steps:
        try:
            results.append(step())
        except TableError as error:
            problems += error.problems
        except InputError as error:
            problems.append(str(error).removeprefix(f"{source}: "))
    if problems:
        raise TableError(source, problems)
    return results


def kept_as(column: Column) -> str | None:
    """The name of the column in outputs; None if it is not part of them."""
    if isinstance(column, Identifier):
        return f"id_{column.name}"
    if isinstance(column, Text):
        return column.name if column.name == "text" else f"text_{column.name}"
    return None


def is_table(value: Any) -> bool:
    """Whether it is a DataFrame with named columns; one with numbered columns is treated as an array."""
    return isinstance(value, pd.DataFrame) and all(isinstance(name, str) for name in value.columns)


def numbered(matrix: Any) -> pd.DataFrame:
    """A matrix as a frame with the columns '0', '1', …."""
    return pd.DataFrame(np.asarray(matrix)).rename(columns=str)


def require_distinct_names(names: Iterable[Any], source: str) -> None:
    """Raise InputError if a column has no name or shares it with another."""
    names = list(names)
    for position, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise InputError(f"{source}: column {position} has no name; name it (pandas: index=False).")
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise InputError(
            f"{source}: {named(twice)}: more than one of that name; rename or remove the others."
        )


def named(names: Sequence[str]) -> str:
    """`column 'a'`, or `columns 'a', 'b', …`."""
    if len(names) == 1:
        return f"column {names[0]!r}"
    return f"columns {', '.join(map(repr, names[:MOST_NAMED]))}{', …' if len(names) > MOST_NAMED else ''}"

"""How the rows of a table become features: fitted once, saved in the run, applied to new rows alike."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.data.columns import MISSING, Categorical, Numeric, as_texts, kind_of, numbers
from noiselimit.errors import InputError


@dataclass(frozen=True)
class Table:
    """The columns in the order of their features. `fit_table` makes one from all labelled rows."""

    columns: tuple[Numeric | Categorical, ...]

    @property
    def features(self) -> int:
        """How many features a row has."""
        return sum(_width(column) for column in self.columns)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The column's name for numbers, 'column=name' for names, 'column is missing' for empty cells."""
        return tuple(name for column in self.columns for name in _feature_names(column))

    @property
    def is_numeric(self) -> npt.NDArray[np.bool_]:
        """[features]: which are numbers, to be standardised; the others are 0 or 1 and stay so."""
        return np.repeat(
            [isinstance(column, Numeric) for column in self.columns],
            [_width(column) for column in self.columns],
        )

    def encode(self, frame: pd.DataFrame, source: str = "the table") -> npt.NDArray[np.float32]:
        """Features [n, features] of the rows. Columns may come in any order, and unknown ones are ignored.

        A name that was not there when the table was fitted has 0 in all features of its column.
        """
        names = Counter(frame.columns)
        for column in self.columns:
            if names[column.name] > 1:
                raise InputError(f"{source}: two columns are called '{column.name}'; remove one.")
            if column.name not in names:
                raise InputError(
                    f"{source}: there is no column '{column.name}', which the training data had; add it."
                )
        features = np.zeros((len(frame), self.features), np.float32)
        start = 0
        for column in self.columns:
            values = frame[column.name]
            if isinstance(column, Numeric):
                features[:, start] = numbers(values, source, "give a number, as in training")
            else:
                place = _places(values, column, source)
                rows = np.flatnonzero(place >= 0)
                features[rows, start + place[rows]] = 1
            start += _width(column)
        return features

    def to_json(self) -> list[dict[str, Any]]:
        """One object per column; those of names have their categories."""
        return [
            {"name": column.name}
            if isinstance(column, Numeric)
            else {"name": column.name, "categories": list(column.categories)}
            for column in self.columns
        ]

    @staticmethod
    def from_json(value: Any) -> "Table":
        """The inverse of `to_json`; whatever that could not have written is a ValueError."""
        if not isinstance(value, list) or not value:
            raise ValueError("a table is a list of columns")
        columns = tuple(_column_from_json(item) for item in value)
        if len({column.name for column in columns}) < len(columns):
            raise ValueError("two columns have one name")
        return Table(columns)


def require_distinct_names(names: Iterable[Any], source: str) -> None:
    """An error where a column has no name of its own."""
    seen: set[str] = set()
    for position, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise InputError(
                f"{source}: column {position} has no name; give it one or remove it "
                "(pandas writes none with index=False)."
            )
        if name in seen:
            raise InputError(f"{source}: two columns are called '{name}'; rename or remove one.")
        seen.add(name)


def _width(column: Numeric | Categorical) -> int:
    return 1 if isinstance(column, Numeric) else len(column.categories)


def _feature_names(column: Numeric | Categorical) -> list[str]:
    if isinstance(column, Numeric):
        return [column.name]
    return [
        f"{column.name} is missing" if category == MISSING else f"{column.name}={category}"
        for category in column.categories
    ]


def _places(values: "pd.Series[Any]", column: Categorical, source: str) -> npt.NDArray[np.int64]:
    """[n]: which category each row has, −1 for one that is not among them."""
    kind_of(values, source)  # dates, lists and the like are refused here
    codes, texts = as_texts(values)
    number = {category: place for place, category in enumerate(column.categories)}
    return np.array([number.get(text, -1) for text in texts], np.int64)[codes]


def _column_from_json(item: Any) -> Numeric | Categorical:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str) or not item["name"]:
        raise ValueError("a column has a name")
    if item.keys() == {"name"}:
        return Numeric(item["name"])
    categories = item.get("categories")
    if item.keys() != {"name", "categories"} or not isinstance(categories, list) or not categories:
        raise ValueError("a column has a name and perhaps categories")
    if not all(isinstance(c, str) for c in categories) or len(set(categories)) < len(categories):
        raise ValueError("categories are distinct strings")
    return Categorical(item["name"], tuple(categories))

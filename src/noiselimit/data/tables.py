"""Tables of numbers and names: how their columns become features.

The encoding is fitted once, on all rows, and kept with a run so that new rows are encoded in the same way.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.data.arrays import first
from noiselimit.errors import InputError

MISSING = ""
"""How an empty cell is called in a column of names."""
KINDS: dict[str, Literal["numbers", "names"]] = {  # by what pandas finds in a column
    "integer": "numbers",
    "floating": "numbers",
    "mixed-integer-float": "numbers",
    "decimal": "numbers",
    "string": "names",
    "boolean": "names",  # an empty cell between True and False is then one more name
    "categorical": "names",
    "empty": "names",
}
DATES = {"date", "datetime", "datetime64", "time", "timedelta", "timedelta64", "period"}
MOST_CATEGORIES = 1000  # each is a feature, so more would fill the memory with zeros
SURELY_NAMES = 100  # with up to so many values, a column holds names even if each occurs only once or twice
SENTENCE_WORDS, SENTENCE_LENGTH = 3, 60  # from so many words or characters on, a value is a sentence
MIXED = 20  # up to so many values, a column may mix numbers and words, such as the sizes 38, 40, XL


@dataclass(frozen=True)
class Numeric:
    """A column of numbers: one feature, to be standardised."""

    name: str
    width: ClassVar[int] = 1

    def encode(self, values: "pd.Series[Any]", features: npt.NDArray[np.float32], source: str) -> None:
        """Write the features [n, 1] of the values."""
        features[:, 0] = numbers(values, source)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"name": self.name}


@dataclass(frozen=True)
class Categorical:
    """A column of names: one feature, 0 or 1, for each name that occurred when it was fitted."""

    name: str
    categories: tuple[str, ...]

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.categories)

    def encode(self, values: "pd.Series[Any]", features: npt.NDArray[np.float32], source: str) -> None:
        """Write the features [n, width] of the values, 0 for names that are none of the categories."""
        kind_of(values, source)  # refuses dates, lists and the like
        codes, texts = as_texts(values)
        number = {category: place for place, category in enumerate(self.categories)}
        place = np.array([number.get(text, -1) for text in texts], np.int64)[codes]
        rows = np.flatnonzero(place >= 0)
        features[rows, place[rows]] = 1

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"name": self.name, "categories": list(self.categories)}


@dataclass(frozen=True)
class Table:
    """The columns of a table in the order of their features; `fit_table` makes one."""

    columns: tuple[Numeric | Categorical, ...]

    @property
    def features(self) -> int:
        """Number of features of a row."""
        return sum(column.width for column in self.columns)

    @property
    def is_numeric(self) -> npt.NDArray[np.bool_]:
        """[features]: which are numbers, to be standardised; the others are 0 or 1."""
        numeric = [isinstance(column, Numeric) for column in self.columns]
        return np.repeat(numeric, [column.width for column in self.columns])

    def encode(self, frame: pd.DataFrame, source: str = "the table") -> npt.NDArray[np.float32]:
        """Features [n, features] of rows that have all columns of the table, in any order."""
        names = Counter(frame.columns)
        features = np.zeros((len(frame), self.features), np.float32)
        start = 0
        for column in self.columns:
            if names[column.name] != 1:
                found = "two columns are" if column.name in names else "no column is"
                raise InputError(f"{source}: {found} called '{column.name}'; give one, as in training.")
            column.encode(frame[column.name], features[:, start : start + column.width], source)
            start += column.width
        return features

    def to_json(self) -> list[dict[str, Any]]:
        """One object per column; columns of names have their categories."""
        return [column.to_json() for column in self.columns]

    @staticmethod
    def from_json(value: Any) -> "Table":
        """The inverse of `to_json`; other values raise an exception that `load_run` reports."""
        columns: list[Numeric | Categorical] = []
        for item in value:
            categories = tuple(item.get("categories", ()))
            columns.append(Categorical(item["name"], categories) if categories else Numeric(item["name"]))
            if not all(isinstance(text, str) for text in categories) or len(set(categories)) < len(
                categories
            ):
                raise ValueError("categories are distinct strings")
        require_distinct_names([column.name for column in columns], "the table")
        table = Table(tuple(columns))
        if not columns or table.to_json() != value:
            raise ValueError("a table is a list of columns with a name and perhaps categories")
        return table


def fit_table(frame: pd.DataFrame, source: str) -> Table:
    """Decide for every column whether it holds numbers or names; constant columns are kept.

    Raises InputError for columns that are neither, such as dates, free text or identifiers.
    """
    require_distinct_names(frame.columns, source)
    if not len(frame.columns):
        raise InputError(f"{source}: there is no column besides the labels; add the inputs.")
    if not len(frame):
        raise InputError(f"{source}: there are no rows; add examples.")
    return Table(tuple(_fit_column(name, frame[name], source) for name in frame.columns))


def require_distinct_names(names: Iterable[Any], source: str) -> None:
    """Raise InputError if a column has no name or shares it with another."""
    seen: set[str] = set()
    for position, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise InputError(f"{source}: column {position} has no name; name it (pandas: index=False).")
        if name in seen:
            raise InputError(f"{source}: two columns are called '{name}'; rename or remove one.")
        seen.add(name)


def _fit_column(name: str, values: "pd.Series[Any]", source: str) -> Numeric | Categorical:
    if kind_of(values, source) == "numbers":
        return Numeric(name)
    column = f"{source}: column {name!r}"
    codes, texts = as_texts(values)
    many = 2 * len(texts) > len(codes)
    sentences = 2 * sum(map(_is_sentence, texts)) > len(texts)
    declared = isinstance(values.dtype, pd.CategoricalDtype)  # the user says that these are names
    if not declared and len(texts) > MIXED:
        _refuse_spoilt_numbers(codes, texts, column)
    if sentences and (len(texts) > MOST_CATEGORIES or (not declared and many and len(texts) > MIXED)):
        raise InputError(
            f"{column} holds free text; embed it, for instance with sentence-transformers, and save the "
            f"vectors as X and the labels as y with numpy.savez, or remove the column (--ignore {name!r})."
        )
    if not declared and many and len(texts) > SURELY_NAMES:
        counts = f"{len(texts)} different values in {len(codes)} rows"
        raise InputError(f"{column} has {counts}, like an identifier; remove it (--ignore {name!r}).")
    if len(texts) > MOST_CATEGORIES:
        raise InputError(f"{column} has {len(texts)} different values; merge some, or --ignore {name!r}.")
    return Categorical(name, tuple(texts))


def _is_sentence(text: str) -> bool:
    return len(text.split()) >= SENTENCE_WORDS or len(text) >= SENTENCE_LENGTH


def _refuse_spoilt_numbers(codes: npt.NDArray[np.int64], texts: list[str], column: str) -> None:
    """Refuse a column of numbers that became text because of a few words or decimal commas."""
    present = np.array(texts, dtype=object) != MISSING
    nearly = ~np.isnan(_parsed([text.replace(",", ".") for text in texts]))
    spoilt = present & np.isnan(_parsed(texts))
    rows = np.bincount(codes, minlength=len(texts))
    if spoilt.any() and rows[nearly].sum() >= 0.9 * rows[present].sum():
        row = int(np.argmax(spoilt[codes]))
        raise InputError(f"{column} holds numbers but '{texts[codes[row]]}' in row {row}; correct it.")


def kind_of(values: "pd.Series[Any]", source: str) -> Literal["numbers", "names"]:
    """Whether a column holds numbers or names; raises InputError for anything else."""
    found = pd.api.types.infer_dtype(values, skipna=True)
    if found in KINDS:
        return KINDS[found]
    remedy = "give numbers or text, or remove the column"
    if found in DATES:
        remedy = "replace dates and times by numbers, such as the year"
    elif found == "bytes":
        remedy = "save the text in UTF-8"
    raise InputError(f"{source}: column '{values.name}' has type {found}; {remedy}.")


def numbers(values: "pd.Series[Any]", source: str) -> npt.NDArray[np.float32]:
    """[n] finite numbers, none missing. True is 1, and text counts where it spells a number."""
    column = f"{source}: column '{values.name}'"
    if kind_of(values, source) == "numbers" or pd.api.types.is_bool_dtype(values):
        found = values.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        codes, texts = as_texts(values)
        parsed = _parsed(texts)
        row = first((np.isnan(parsed) & (np.array(texts, dtype=object) != MISSING))[codes])
        if row is not None:
            raise InputError(f"{column} holds '{texts[codes[row]]}' in row {row}; give a number.")
        found = parsed[codes]
    with np.errstate(over="ignore"):
        narrow = found.astype(np.float32)
    row = first(~np.isfinite(narrow))
    if row is not None:
        cell = "has no number" if np.isnan(found[row]) else f"is {found[row]:g}, too large for float32,"
        raise InputError(f"{column} {cell} in row {row}; correct it or remove that row.")
    return narrow


def _parsed(texts: list[str]) -> npt.NDArray[np.float64]:
    """The numbers that the texts spell, NaN if none."""
    return np.asarray(pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce"), np.float64)


def as_texts(values: "pd.Series[Any]") -> tuple[npt.NDArray[np.int64], list[str]]:
    """(codes [n], the sorted distinct texts that they number); an empty cell is the text ''."""
    codes, distinct = pd.factorize(values)
    texts = [*map(_text, distinct), MISSING]  # an empty cell has the code −1, which picks the last
    found = sorted({texts[code] for code in np.unique(codes)})
    place = {text: number for number, text in enumerate(found)}
    return np.array([place.get(text, -1) for text in texts], np.int64)[codes], found


def _text(value: Any) -> str:
    """1.0 is '1', because an empty cell turns a column of whole numbers into floats."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)

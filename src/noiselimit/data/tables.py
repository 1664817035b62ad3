"""Which columns of a table are numbers and which are names: decided once, on all labelled rows."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.errors import InputError

MISSING = ""
"""The name that an empty cell has in a column of names."""

KINDS: dict[str, Literal["numbers", "names"]] = {  # by what pandas finds in a column
    "integer": "numbers",
    "floating": "numbers",
    "mixed-integer-float": "numbers",
    "decimal": "numbers",
    "string": "names",
    "boolean": "names",  # True and False are names: an empty cell between them is then one more
    "categorical": "names",
    "empty": "names",
}
DATES = {"date", "datetime", "datetime64", "time", "timedelta", "timedelta64", "period"}


@dataclass(frozen=True)
class Numeric:
    """A column of numbers."""

    name: str


@dataclass(frozen=True)
class Categorical:
    """A column of names, and which of them there were when it was fitted."""

    name: str
    categories: tuple[str, ...]


def kind_of(values: "pd.Series[Any]", source: str) -> Literal["numbers", "names"]:
    """Whether a column holds numbers or names; an error for anything else."""
    found = pd.api.types.infer_dtype(values, skipna=True)
    if found in KINDS:
        return KINDS[found]
    column = f"{source}: column '{values.name}'"
    if found in DATES:
        raise InputError(
            f"{column} holds dates or times; replace it by numbers, such as the year or the age."
        )
    if found == "bytes":
        raise InputError(f"{column} is not text in UTF-8; save the file in that encoding.")
    if found == "mixed-integer":
        raise InputError(f"{column} mixes numbers and text; turn it into one or the other.")
    raise InputError(f"{column} has type {found}; give numbers or text, or remove the column.")


def numbers(values: "pd.Series[Any]", source: str, remedy: str = "give a number") -> npt.NDArray[np.float32]:
    """[n], every one present and finite; True is 1, and text is taken where it spells a number."""
    column = f"{source}: column '{values.name}'"
    if kind_of(values, source) == "numbers" or pd.api.types.is_bool_dtype(values):
        found = values.to_numpy(dtype=np.float64, na_value=np.nan)
        absent = np.isnan(found)
    else:
        found, absent = _spelled(values, column, remedy)
    if absent.any():
        row = int(np.argmax(absent))
        raise InputError(f"{column} has no number in row {row}; fill it in or remove that row.")
    with np.errstate(over="ignore"):
        narrow = found.astype(np.float32)
    finite = np.isfinite(narrow)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InputError(
            f"{column} is {found[row]:g} in row {row}, beyond the range of float32; "
            "correct it or remove that row."
        )
    return narrow


def _spelled(
    values: "pd.Series[Any]", column: str, remedy: str
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """(numbers [n], which cells are empty [n]) of a column of text."""
    codes, texts = as_texts(values)
    parsed = np.asarray(pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce"), np.float64)
    wrong = np.isnan(parsed) & (np.array(texts, dtype=object) != MISSING)
    if wrong.any():
        row = int(np.argmax(wrong[codes]))
        raise InputError(f"{column} holds '{texts[codes[row]]}' in row {row}; {remedy}.")
    return parsed[codes], np.isnan(parsed)[codes]


def as_texts(values: "pd.Series[Any]") -> tuple[npt.NDArray[np.int64], list[str]]:
    """(codes [n], the sorted distinct texts they number); an empty cell is the text ''."""
    codes, distinct = pd.factorize(values)
    texts = [*map(_text, distinct), MISSING]  # the last is what the code −1 of an empty cell picks
    found = sorted({texts[code] for code in np.unique(codes)})
    place = {text: number for number, text in enumerate(found)}
    return np.array([place.get(text, -1) for text in texts], np.int64)[codes], found


def _text(value: Any) -> str:
    """Whole numbers alike whether or not an empty cell made the column one of floats: 1.0 is '1'."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


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


MOST_CATEGORIES = 1000
"""Each is a feature, so more would fill the memory with zeros."""
SURELY_NAMES = 100
"""Up to so many categories a column is taken for names even if there are few rows for each."""
WORDS, LONG = 3, 60
"""From so many words, or characters, on a value is text rather than a name."""
FEW = 20
"""Up to so many categories a column may mix spelled numbers with words, such as the sizes 38, 40, XL."""


def fit_table(frame: pd.DataFrame, source: str) -> Table:
    """The encoding of the frame's columns, in their order; constant ones are kept."""
    require_distinct_names(frame.columns, source)
    if not len(frame.columns):
        raise InputError(f"{source}: there is no column beside the labels; add the inputs.")
    if not len(frame):
        raise InputError(f"{source}: there are no rows; add examples.")
    return Table(tuple(_fit(name, frame[name], source) for name in frame.columns))


def _fit(name: str, values: "pd.Series[Any]", source: str) -> Numeric | Categorical:
    column = f"{source}: column {name!r}"
    _require_unicode([name], column)
    if kind_of(values, source) == "numbers":
        return Numeric(name)
    codes, texts = as_texts(values)
    _require_unicode(texts, column)
    if not isinstance(values.dtype, pd.CategoricalDtype):  # there the user has said that they are names
        _refuse_spoilt_numbers(codes, texts, column)
        if len(texts) > FEW and 2 * len(texts) > len(codes) and _are_sentences(texts):
            raise _needs_embedding(column, name)
        if len(texts) > SURELY_NAMES and 2 * len(texts) > len(codes):
            raise InputError(
                f"{column} has {len(texts)} different values in {len(codes)} rows and looks like an "
                f"identifier; remove it (--ignore {name!r})."
            )
    if len(texts) > MOST_CATEGORIES:
        if _are_sentences(texts):
            raise _needs_embedding(column, name)
        raise InputError(
            f"{column} has {len(texts)} different values, more than {MOST_CATEGORIES}; "
            f"join the rare ones or remove the column (--ignore {name!r})."
        )
    return Categorical(name, tuple(texts))


def _are_sentences(texts: list[str]) -> bool:
    """Whether most of these are more than names: of several words or, in scripts without blanks, long."""
    return 2 * sum(len(text.split()) >= WORDS or len(text) >= LONG for text in texts) > len(texts)


def _needs_embedding(column: str, name: str) -> InputError:
    return InputError(
        f"{column} holds text, which must become numbers first; embed it, as with "
        "SentenceTransformer('all-MiniLM-L6-v2').encode(texts) of sentence-transformers, and save these as X "
        f"and the labels as y with numpy.savez, or remove the column (--ignore {name!r})."
    )


def _refuse_spoilt_numbers(codes: npt.NDArray[np.int64], texts: list[str], column: str) -> None:
    """A column of numbers that became text because of a word or a decimal comma is not meant as names."""
    if len(texts) <= FEW:
        return
    plain = _are_numbers(texts)
    nearly = _are_numbers([text.replace(",", ".") for text in texts])
    present = np.array(texts, dtype=object) != MISSING
    rows = np.bincount(codes, minlength=len(texts))
    spoilt = present & ~plain
    if spoilt.any() and rows[nearly].sum() >= 0.9 * rows[present].sum():
        row = int(np.argmax(spoilt[codes]))
        raise InputError(
            f"{column} holds numbers but '{texts[codes[row]]}' in row {row}; write a number with a decimal "
            "point there, or a letter before every value if they are names."
        )


def _are_numbers(texts: list[str]) -> npt.NDArray[np.bool_]:
    parsed = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce")
    return np.asarray(parsed.notna(), dtype=bool)


def _require_unicode(texts: list[str], column: str) -> None:
    """A run folder keeps the texts in UTF-8, which half a surrogate pair has no place in."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise InputError(f"{column} holds text that is not valid Unicode; correct or remove it.") from None

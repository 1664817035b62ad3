"""The columns of a table: numbers, which become one feature each, and names, which become one per name.

Messages count rows from 0, without the line of column names.
"""

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

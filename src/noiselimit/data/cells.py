"""What the cells of a column hold, and the numbers, dates and texts that they spell.

Texts are read as people write them: 25,801 and 25.801,50 and $5 and 12 %; 31.12.2021 and 12/31/2021 and
3 Mar 2021. What a column alone can tell, such as which mark is the decimal one, is an argument.
"""

import datetime
import re
from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.data.arrays import first
from noiselimit.errors import InputError

MISSING = ""
"""How an empty cell is called in a column of names."""
KINDS = {  # by what pandas finds in a column
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal"), "numbers"),
    # An empty cell between True and False is one more name.
    **dict.fromkeys(("string", "boolean", "categorical", "empty"), "names"),
    **dict.fromkeys(("date", "datetime", "datetime64"), "dates"),
}
SCALARS = (str, Number, np.generic, datetime.date)
"""What a mixed column may hold besides empty cells."""

UNITS = r"(?:[$€£¥₹₩\s]|EUR|USD|GBP|CHF|CNY|JPY)"
NUMBERS = {  # by the decimal mark
    decimal: re.compile(
        rf"(?P<before>(?:[-+−(]|{UNITS}){{0,5}})"
        rf"(?P<whole>[1-9]\d{{0,2}}(?:[{thousands}\s'’]\d{{3}})+|\d+)(?:[{decimal}](?P<fraction>\d*))?"
        rf"(?:[%)]|{UNITS}){{0,4}}"
    )
    for decimal, thousands in ((".", ","), (",", "."))
}
ISO_DATE = re.compile(r"\d{4}[-/]\d{2}[-/]\d{2}(?:[T ].*)?")
WEEKDAY, MONTH = r"(?:[^\W\d]{2,10}\.?,? )?", r"(?P<month>[^\W\d]{3,9})"
CLOCK = r"(?:[T ,]+(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)? ?(?P<half>[APap][Mm])?)?"
DATES = [
    re.compile(date + CLOCK)
    for date in (
        r"(?P<year>\d{4})[-/.年](?P<month>\d\d?)[-/.月](?P<day>\d\d?)日?",
        r"(?P<one>\d\d?)(?P<mark>[-/.])(?P<two>\d\d?)(?P=mark)(?P<year>\d{4}|(?<!-)\d\d)",
        rf"{WEEKDAY}(?P<day>\d\d?)(?:\.|st|nd|rd|th)?[ -]{MONTH}\.?,?[ -](?P<year>\d{{4}}|\d\d)",
        rf"{WEEKDAY}{MONTH}\.? (?P<day>\d\d?)(?:st|nd|rd|th)?,? (?P<year>\d{{4}})",
    )
]
MONTH_NAMES = (
    "jan january januar jänner, feb february februar, mar march mär märz mrz, apr april, may mai, "
    "jun june juni, jul july juli, aug august, sep sept september, oct october okt oktober, nov november, "
    "dec december dez dezember"
)
MONTHS = {name: number for number, names in enumerate(MONTH_NAMES.split(","), 1) for name in names.split()}
LATEST = 2068
"""The latest year that two digits stand for."""


def kind_of(values: "pd.Series[Any]", source: str, *, labels: bool = False) -> str:
    """Whether a column holds 'numbers', 'names' or 'dates'; InputError for anything else.

    Numbers mixed with texts are names. Labels are neither dates nor mixed.
    """
    found = pd.api.types.infer_dtype(values, skipna=True)
    kind = KINDS.get(found)
    if found in ("mixed", "mixed-integer") and not labels:
        others = (value for value in values if not isinstance(value, SCALARS) and pd.isna(value) is not True)
        other = next((type(value).__name__ for value in others), None)
        kind, found = (None, f"mixed ({other})") if other else ("names", found)
    if kind is None or (labels and kind == "dates"):
        wanted = "numbers or text, not dates" if labels else "numbers, full dates or text in UTF-8"
        problem = f"column '{values.name}' has type {found}"
        raise InputError(f"{source}: {problem}; give {wanted}, or remove the column.")
    return kind


def to_float32(
    values: "pd.Series[Any]", source: str, *, decimal: str = ".", words: bool = False
) -> npt.NDArray[np.float32]:
    """[n] numbers, NaN in empty cells and infinite if too large.

    Words raise InputError, or are NaN if they are allowed.
    """
    kind = kind_of(values, source)
    if kind == "dates":
        raise InputError(f"{source}: column '{values.name}' holds dates; give numbers, as in training.")
    if kind == "numbers" or pd.api.types.is_bool_dtype(values):
        found = values.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        codes, texts = as_texts(values)
        parsed = parse_numbers(texts, decimal)
        row = first((np.isnan(parsed) & (np.array(texts, dtype=object) != MISSING))[codes])
        if row is not None and not words:
            problem = f"column '{values.name}' holds '{texts[codes[row]]}' in row {row}"
            raise InputError(f"{source}: {problem}; give a number.")
        found = parsed[codes]
    with np.errstate(over="ignore"):
        return found.astype(np.float32)


def parse_numbers(texts: Sequence[str], decimal: str = ".") -> npt.NDArray[np.float64]:
    """The numbers that the texts spell with this decimal mark, NaN if none; units are left out."""
    plain = pd.Series(list(texts), dtype=object)
    if decimal != ".":
        plain[plain.str.contains(".", regex=False)] = None  # a point stands between thousands
    found = np.array(pd.to_numeric(plain, errors="coerce"), np.float64)
    for place in np.flatnonzero(np.isnan(found)).tolist():
        match = NUMBERS[decimal].fullmatch(texts[place])
        if match:
            whole = re.sub(r"\D", "", match["whole"])
            number = float(f"{whole}.{match['fraction'] or 0}")
            found[place] = -number if set(match["before"]) & set("-−(") else number
    return found


def to_dates(values: "pd.Series[Any]", day_first: bool | None = None) -> pd.DatetimeIndex:
    """[n] times in UTC, NaT for anything that is no date."""
    if isinstance(values.dtype, pd.DatetimeTZDtype) or values.dtype.kind == "M":
        return pd.DatetimeIndex(pd.to_datetime(values, utc=True))
    codes, texts = as_texts(values)
    return parse_dates(texts, day_first)[codes]


def parse_dates(texts: Sequence[str], day_first: bool | None = None) -> pd.DatetimeIndex:
    """The dates that the texts spell, NaT if none.

    `day_first` says what 3/4/2021 is: 3 April if true, 4 March if false, and no date if it is None.
    """
    spelled = [text if ISO_DATE.fullmatch(text) else None for text in texts]
    found = pd.DatetimeIndex(
        pd.to_datetime(pd.Series(spelled, dtype=object), format="ISO8601", errors="coerce", utc=True)
    )
    others = {place: _date_parts(texts[place], day_first) for place in np.flatnonzero(found.isna()).tolist()}
    parts = {place: each for place, each in others.items() if each is not None}
    if not parts:
        return found
    frame = pd.DataFrame.from_dict(parts, orient="index")
    dates = pd.to_datetime(frame, errors="coerce", utc=True).reindex(range(len(texts)))
    return found.where(found.notna(), pd.DatetimeIndex(dates))


def _date_parts(text: str, day_first: bool | None) -> dict[str, int] | None:
    """Year, month, day, hour, minute and second, which may be impossible ones."""
    match = next((match for form in DATES if (match := form.fullmatch(text.strip()))), None)
    if match is None:
        return None
    given = match.groupdict()
    if "mark" in given:  # with points, the day comes first everywhere
        day_first = True if given["mark"] == "." else day_first
        if day_first is None:
            return None
        order = ("one", "two") if day_first else ("two", "one")
        given["day"], given["month"] = (given[name] for name in order)
    month = MONTHS.get(given["month"].lower()) or int("0" + re.sub(r"\D", "", given["month"]))
    year = int(given["year"])
    if len(given["year"]) == 2:
        year += 2000 if 2000 + year <= LATEST else 1900
    hour = int(given["hour"] or 0)
    if given["half"]:
        hour = hour % 12 + 12 * (given["half"].lower() == "pm")
    clock = {"hour": hour, "minute": int(given["minute"] or 0), "second": int(given["second"] or 0)}
    return {"year": year, "month": month, "day": int(given["day"]), **clock}


def to_texts(values: "pd.Series[Any]", source: str) -> list[str]:
    """[n] texts, '' in empty cells."""
    if kind_of(values, source) == "dates":
        raise InputError(f"{source}: column '{values.name}' holds dates; give text.")
    codes, texts = as_texts(values)
    return [texts[code] for code in codes]


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

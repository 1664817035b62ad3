"""Fit the encoding of a table: decide what each column holds."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.data.cells import (
    MISSING,
    as_texts,
    kind_of,
    parse_dates,
    parse_numbers,
    to_dates,
    to_float32,
    to_texts,
)
from noiselimit.data.columns import Categorical, Column, Date, Identifier, Numeric, Text
from noiselimit.data.tables import Table, all_of, named, require_distinct_names
from noiselimit.errors import InputError, unknown
from noiselimit.features.texts import TF_IDF, TextFeatures, count_words

MOST_CATEGORIES = 1000  # each is a feature, so more would fill the memory with zeros
FREQUENT, HASHED = 200, 32  # categories and hashed features of a column with more names than that
SURELY_NAMES = 100  # with up to so many values, a column holds names even if each occurs only once or twice
SENTENCE = 3  # from so many words on, a value is free text
MIXED = 20  # up to so many values, a column may mix numbers and words, such as the sizes 38, 40, XL
MOST_DATES = 0.95  # share of the cells that must be dates for a text column to be one of dates
MOST_NUMBERS, SOME_NUMBERS = 0.9, 0.5  # likewise for numbers; the latter if there are too many names
DISTINCT = 0.95  # share of different texts from which they are identifiers
FEWEST_NUMBERED = 20  # with fewer rows, different values in all of them may be chance
GAPS = 1.1  # row numbers may go up to so many times the number of rows, because some rows were removed


def fit_table(frame: pd.DataFrame, source: str, text: TextFeatures = TextFeatures()) -> Table:  # noqa: B008
    """Decide for every column what it holds; its notes say which columns were left out, and why.

    Raises one InputError for all columns that cannot be used, such as lists.
    """
    require_distinct_names(frame.columns, source)
    if not len(frame.columns):
        raise InputError(f"{source}: no column is left besides the labels; add inputs.")
    if not len(frame):
        raise InputError(f"{source}: there are no rows; add examples.")
    for name in text.columns:
        if name not in frame.columns:
            raise InputError(f"{source}: --text: {unknown('column', name, frame.columns)}")
    fitting = _Fitting(source, text)
    found = all_of(source, [partial(fitting.fit, frame[name]) for name in frame.columns])
    columns = [column for column in found if column is not None]
    if not any(column.width for column in columns):  # texts that all differ may be short
        columns = [fitting.identifier_as_text(frame[column.name]) for column in columns]
    table = Table(tuple(columns), fitting.sentences())
    if not table.features:
        raise InputError(
            f"{source}: no column can be an input, because all are constant or identifiers; add some."
        )
    return table


NOTES = {
    "identifiers": "identifiers of the rows; not used as inputs, but part of the outputs",
    "constant": "constant; left out",
    "infinite": "infinite numbers count as missing",
    "words": "too many different words among the numbers; they count as missing",
    "ambiguous": "day or month may come first; if they are exchanged, write year-month-day",
    "undated": "texts that are no dates count as missing",
}


class _Fitting:
    """Decides what each column holds, and notes what happened to columns."""

    def __init__(self, source: str, text: TextFeatures) -> None:
        self.source, self.text = source, text
        self.names: dict[str, list[str]] = {}

    def note(self, what: str, name: str) -> None:
        self.names.setdefault(what, []).append(name)

    def sentences(self) -> tuple[str, ...]:
        embedded = f"free text, embedded by {self.text.chosen}"
        if self.text.chosen == TF_IDF and self.text.name == "auto":
            embedded += "; pretrained features find more label errors: run `pip install wordllama`"
        return tuple(
            f"{self.source}: {named(self.names[what])}: {text}."
            for what, text in {**NOTES, "embedded": embedded}.items()
            if self.names.get(what)
        )

    def fit(self, values: "pd.Series[Any]") -> Column | None:
        """The column, or None if it is to be left out."""
        name, kind = str(values.name), kind_of(values, self.source)
        column: Column | None
        if name in self.text.columns:
            column = self._free_text(values)
        elif kind == "names":
            column = self._texts(values)
        elif kind == "dates":
            column = _fit_dates(name, to_dates(values))
        elif numbers_rows(values):
            column = Identifier(name)
        else:
            column = self._numbers(name, to_float32(values, self.source))
        if column is None:
            self.note("constant", name)
        elif isinstance(column, Identifier):
            self.note("identifiers", name)
        return column

    def identifier_as_text(self, values: "pd.Series[Any]") -> Column:
        """A column of identifiers, or of free text if most of its values have several words."""
        name = str(values.name)
        words = [count_words(text) for text in to_texts(values, self.source)]
        if np.median(words) < 2 or self.text.name == "none":
            return Identifier(name)
        self.names["identifiers"].remove(name)
        return self._free_text(values)

    def _numbers(self, name: str, found: npt.NDArray[np.float32]) -> Numeric | None:
        """None if constant."""
        present = found[np.isfinite(found)]
        if np.isinf(found).any():
            self.note("infinite", name)
        if len(present) == len(found):
            return None if (present == present[0]).all() else Numeric(name)
        return Numeric(name, float(np.median(present))) if len(present) else None

    def _texts(self, values: "pd.Series[Any]") -> Column | None:
        """None if constant."""
        name, (codes, texts) = str(values.name), as_texts(values)
        if len(texts) == 1:
            return None
        if isinstance(values.dtype, pd.CategoricalDtype):  # the user says that these are names
            if len(texts) > MOST_CATEGORIES and _are_sentences(texts):
                return self._free_text(values)
            return _fit_names(name, codes, texts, hashed=len(texts) > MOST_CATEGORIES)
        rows = np.bincount(codes, minlength=len(texts))
        present = np.array(texts, dtype=object) != MISSING
        cells = int(rows[present].sum())
        dates, day_first = _read_dates(texts, rows)
        dated = np.asarray(dates.notna())
        if rows[dated].sum() >= MOST_DATES * cells:
            if not dated[present].all():
                self.note("undated", name)
            if day_first is not None and np.array_equal(parse_dates(texts, not day_first).notna(), dated):
                self.note("ambiguous", name)
            return _fit_dates(name, dates[codes], day_first)
        many = 2 * len(texts) > len(codes)
        too_many = len(texts) > MOST_CATEGORIES or (many and len(texts) > SURELY_NAMES)
        if len(texts) > MIXED:
            column = self._mixture(name, codes, texts, SOME_NUMBERS if too_many else MOST_NUMBERS)
            if column is not None:
                return column
            if _are_sentences(texts) and (many or len(texts) > MOST_CATEGORIES):
                return self._free_text(values)
        distinct = int(present.sum())
        numbered = len(codes) >= FEWEST_NUMBERED and distinct == len(codes)
        if numbered or (distinct > SURELY_NAMES and distinct >= DISTINCT * cells):
            return Identifier(name)
        return _fit_names(name, codes, texts, hashed=too_many)

    def _mixture(
        self, name: str, codes: npt.NDArray[np.int64], texts: list[str], share: float
    ) -> Numeric | Identifier | None:
        """A column of numbers with units, thousands or words; None if fewer than this share are numbers."""
        present = np.array(texts, dtype=object) != MISSING
        if pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce")[present].notna().all():
            return None  # numbers that are stored as text are names
        rows = np.bincount(codes, minlength=len(texts))
        points, commas = (parse_numbers(texts, mark) for mark in ".,")
        most = rows[~np.isnan(commas)].sum() > rows[~np.isnan(points)].sum()
        parsed, other, decimal = (commas, points, ",") if most else (points, commas, ".")
        word = present & np.isnan(parsed)
        otherwise = word & ~np.isnan(other)
        if rows[present & (~word | otherwise)].sum() < share * rows[present].sum():
            return None
        if otherwise.any():
            row = int(np.argmax(otherwise[codes]))
            problem = f"column {name!r} has decimal points and commas: '{texts[codes[row]]}' in row {row}"
            raise InputError(f"{self.source}: {problem}; write all numbers alike, such as 1234.5.")
        if numbers_rows(pd.Series(parsed[codes])):
            return Identifier(name)
        with np.errstate(over="ignore"):
            column = self._numbers(name, parsed[codes].astype(np.float32))
        if column is None:
            return None
        words = tuple(text for text, is_word in zip(texts, word, strict=True) if is_word)
        if len(words) > MIXED:
            self.note("words", name)
            return replace(column, words=(), decimal=decimal)
        return replace(column, words=words or None, decimal=decimal)

    def _free_text(self, values: "pd.Series[Any]") -> Text:
        name, texts = str(values.name), to_texts(values, self.source)
        if self.text.name == "none":
            remedy = "choose other features than 'none', or leave the column out"
            raise InputError(f"{self.source}: column {name!r} holds free text; {remedy}.")
        if not any(text.strip() for text in texts):
            raise InputError(f"{self.source}: column {name!r} holds no text; fill it in or name another.")
        embedder, arrays = self.text.load(texts)
        self.note("embedded", name)
        embed = partial(embedder.embed, cache=self.text.cache, progress=self.text.progress)
        return Text(name, embedder.embedding, arrays, embed)


def _read_dates(texts: list[str], rows: npt.NDArray[np.int64]) -> tuple[pd.DatetimeIndex, bool | None]:
    """The dates of texts that stand in so many rows, and whether the day comes first, if that matters."""
    dates = {order: parse_dates(texts, order) for order in (None, False, True)}

    def cells_and_months(order: bool | None) -> tuple[int, int]:
        return int(rows[dates[order].notna()].sum()), dates[order].month.nunique()

    best = max(dates, key=cells_and_months)  # 1/1, 1/2, 1/3 are rather months than days
    return dates[best], best


def _fit_dates(name: str, found: pd.DatetimeIndex, day_first: bool | None = None) -> Date | None:
    """None if constant."""
    present = found[found.notna()].sort_values()
    missing = len(present) < len(found)
    if not len(present) or (present[0] == present[-1] and not missing):
        return None
    hour = bool((present != present.normalize()).any())
    return Date(name, str(present[0]), str(present[len(present) // 2]), hour, missing, day_first)


def _fit_names(name: str, codes: npt.NDArray[np.int64], texts: list[str], *, hashed: bool) -> Categorical:
    if not hashed:
        return Categorical(name, tuple(texts))
    rows = np.bincount(codes, minlength=len(texts))
    if texts[0] == MISSING:
        rows[0] = len(codes) + 1  # an empty text has no letters to hash, so it is a category in any case
    frequent = np.argsort(-rows, kind="stable")[:FREQUENT]
    return Categorical(name, tuple(sorted(texts[place] for place in frequent)), HASHED)


def _are_sentences(texts: list[str]) -> bool:
    return 2 * sum(count_words(text) >= SENTENCE for text in texts) > len(texts)


def numbers_rows(values: "pd.Series[Any]") -> bool:
    """Whether a column of numbers holds whole numbers in sequence, different in all rows."""
    rows = len(values)
    if rows < FEWEST_NUMBERED or not values.is_unique:
        return False
    plain = isinstance(values.dtype, np.dtype) and values.dtype.kind in "iu"
    found = values.to_numpy() if plain else values.to_numpy(np.float64, na_value=np.nan)
    low, high = float(found.min()), float(found.max())
    if not high - low >= rows - 1 or not np.array_equal(found, np.floor(found)):
        return False
    if (found[1:] > found[:-1]).all() or (found[1:] < found[:-1]).all():
        return True
    return high - low < GAPS * rows

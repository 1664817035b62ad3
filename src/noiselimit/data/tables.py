"""Tables of numbers, names, dates and text: which kind each column has, and the encoding of whole tables.

The encoding is fitted once, on all rows, and kept with a run so that new rows are encoded in the same way.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.data.columns import (
    MISSING,
    Categorical,
    Column,
    Date,
    Identifier,
    Numeric,
    Text,
    as_texts,
    column_from_json,
    kind_of,
    parse_dates,
    parse_numbers,
    to_dates,
    to_float32,
    to_texts,
)
from noiselimit.errors import InputError, unknown
from noiselimit.features.texts import TF_IDF, TextFeatures

MOST_CATEGORIES = 1000  # each is a feature, so more would fill the memory with zeros
FREQUENT, HASHED = 200, 32  # categories and hashed features of a column with more names than that
SURELY_NAMES = 100  # with up to so many values, a column holds names even if each occurs only once or twice
SENTENCE_WORDS, SENTENCE_LENGTH = 3, 60  # from so many words or characters on, a value is a sentence
MIXED = 20  # up to so many values, a column may mix numbers and words, such as the sizes 38, 40, XL
MOST_DATES = 0.95  # share of the cells that must be dates for a text column to be one of dates
MOST_NUMBERS, SOME_NUMBERS = 0.9, 0.5  # likewise for numbers; the latter if there are too many names
DISTINCT = 0.95  # share of different texts from which they are identifiers
FEWEST_NUMBERED = 20  # with fewer rows, different values in all of them may be chance
GAPS = 1.1  # row numbers may go up to so many times the number of rows, because some rows were removed
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

    def encode(self, frame: pd.DataFrame, source: str = "the table") -> npt.NDArray[np.float32]:
        """Features [n, features] of rows that have all columns of the table, in any order."""
        names = Counter(frame.columns)
        features = np.zeros((len(frame), self.features), np.float32)

        def encode(column: Column, place: slice) -> None:
            if names[column.name] != 1:
                found = "two columns are" if column.name in names else "no column is"
                raise InputError(f"{source}: {found} called '{column.name}'; give one, as in training.")
            column.encode(frame[column.name], features[:, place], source)

        all_of(source, [partial(encode, *each) for each in self._places() if each[0].width])
        return features

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


def require_distinct_names(names: Iterable[Any], source: str) -> None:
    """Raise InputError if a column has no name or shares it with another."""
    seen: set[str] = set()
    for position, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise InputError(f"{source}: column {position} has no name; name it (pandas: index=False).")
        if name in seen:
            raise InputError(f"{source}: two columns are called '{name}'; rename or remove one.")
        seen.add(name)


def named(names: Sequence[str]) -> str:
    """`column 'a'`, or `columns 'a', 'b', …`."""
    if len(names) == 1:
        return f"column {names[0]!r}"
    return f"columns {', '.join(map(repr, names[:MOST_NAMED]))}{', …' if len(names) > MOST_NAMED else ''}"


NOTES = {
    "identifiers": "identifiers of the rows; not used as inputs, but part of the outputs",
    "constant": "constant; left out",
    "infinite": "infinite numbers count as missing",
    "words": "too many different words among the numbers; they count as missing",
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
        words = [len(text.split()) for text in to_texts(values, self.source)]
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
        dates = parse_dates(texts)
        dated = np.asarray(dates.notna())
        if rows[dated].sum() >= MOST_DATES * cells:
            if not dated[present].all():
                self.note("undated", name)
            return _fit_dates(name, dates[codes])
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
    ) -> Numeric | None:
        """A column of numbers among which there are words; None if fewer than this share are numbers."""
        present = np.array(texts, dtype=object) != MISSING
        parsed = parse_numbers(texts)
        word = present & np.isnan(parsed)
        rows = np.bincount(codes, minlength=len(texts))
        with_commas = word & ~np.isnan(parse_numbers([text.replace(",", ".") for text in texts]))
        numeric = rows[present & ~word].sum()
        cells = rows[present].sum()
        if not word.any() or numeric + rows[with_commas].sum() < share * cells:
            return None
        if with_commas.any():
            row = int(np.argmax(with_commas[codes]))
            problem = f"column {name!r} holds numbers but '{texts[codes[row]]}' in row {row}"
            raise InputError(f"{self.source}: {problem}; write it without commas, such as 1234.5.")
        words = tuple(text for text, is_word in zip(texts, word, strict=True) if is_word)
        if len(words) > MIXED:
            self.note("words", name)
            words = ()
        with np.errstate(over="ignore"):
            found = parsed[codes].astype(np.float32)
        column = self._numbers(name, found)
        return None if column is None else replace(column, words=words)

    def _free_text(self, values: "pd.Series[Any]") -> Text:
        name, texts = str(values.name), to_texts(values, self.source)
        if self.text.name == "none":
            remedy = f"leave out --features none, or ignore the column (--ignore {name!r})"
            raise InputError(f"{self.source}: column {name!r} holds free text; {remedy}.")
        if not any(text.strip() for text in texts):
            raise InputError(f"{self.source}: column {name!r} holds no text; fill it in or name another.")
        embedder, arrays = self.text.load(texts)
        self.note("embedded", name)
        embed = partial(embedder.embed, cache=self.text.cache, progress=self.text.progress)
        return Text(name, embedder.embedding, arrays, embed)


def _fit_dates(name: str, found: pd.DatetimeIndex) -> Date | None:
    """None if constant."""
    present = found[found.notna()].sort_values()
    missing = len(present) < len(found)
    if not len(present) or (present[0] == present[-1] and not missing):
        return None
    hour = bool((present != present.normalize()).any())
    return Date(name, str(present[0]), str(present[len(present) // 2]), hour, missing)


def _fit_names(name: str, codes: npt.NDArray[np.int64], texts: list[str], *, hashed: bool) -> Categorical:
    if not hashed:
        return Categorical(name, tuple(texts))
    rows = np.bincount(codes, minlength=len(texts))
    if texts[0] == MISSING:
        rows[0] = len(codes) + 1  # an empty text has no letters to hash, so it is a category in any case
    frequent = np.argsort(-rows, kind="stable")[:FREQUENT]
    return Categorical(name, tuple(sorted(texts[place] for place in frequent)), HASHED)


def _are_sentences(texts: list[str]) -> bool:
    long = sum(len(text.split()) >= SENTENCE_WORDS or len(text) >= SENTENCE_LENGTH for text in texts)
    return 2 * long > len(texts)


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

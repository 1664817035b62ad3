"""The kinds of columns in a table, and how their values become features.

Each kind is a class with `width`, `is_numeric`, `encode`, `show` and `to_json`. They are stored as plain
JSON, so that a run folder holds nothing that could be executed.
"""

import datetime
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from numbers import Number
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.data.arrays import first
from noiselimit.errors import InputError
from noiselimit.features.cache import Embedding

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
DATES = {"date", "datetime", "datetime64"}
MIXTURES = {"mixed", "mixed-integer"}
SCALARS = (str, Number, np.generic, datetime.date)
"""What a mixed column may hold besides empty cells."""
ISO_DATE = re.compile(r"\d{4}[-/]\d{2}[-/]\d{2}(?:[T ].*)?")
LETTERS = (2, 4)  # lengths of the character n-grams that are hashed

Features = npt.NDArray[Any]


@dataclass(frozen=True)
class Numeric:
    """A column of numbers: one feature, to be standardised.

    If cells were empty when it was fitted, they get the median, and a second feature is 1 there. If it held
    words too, they count as empty, and each of the `words` has a further feature.
    """

    name: str
    median: float | None = None
    """None if no cell was empty."""
    words: tuple[str, ...] | None = None
    """None if a word is an error."""
    mean: float | None = field(default=None, compare=False)
    """What an empty cell gets if there is no median; not part of the JSON."""

    def __post_init__(self) -> None:
        if self.median is not None and not math.isfinite(self.median):
            raise ValueError("a median is a finite number")
        if self.words is not None:
            _require_distinct_texts(self.words)
            if self.median is None:
                raise ValueError("words need a median")

    @property
    def width(self) -> int:
        """Number of features."""
        return 1 + (self.median is not None) + len(self.words or ())

    @property
    def is_numeric(self) -> list[bool]:
        """[width]: which features are to be standardised."""
        return [True] + [False] * (self.width - 1)

    def encode(self, values: "pd.Series[Any]", features: Features, source: str) -> None:
        """Write the features [n, width] of the values."""
        found = to_float32(values, source, words=self.words is not None)
        empty = ~np.isfinite(found)
        fill = self.mean if self.median is None else self.median
        row = first(empty)
        if row is not None and fill is None:
            raise InputError(f"{source}: column '{values.name}' has no number in row {row}; fill it in.")
        features[:, 0] = found if row is None else np.where(empty, np.float32(fill or 0), found)
        if self.median is not None:
            features[:, 1] = empty
        if self.words:
            _one_hot(*as_texts(values), self.words, features[:, 2:])

    def show(self, features: Features) -> str:
        """The value that the features [width] of a row stand for, to be read by a person."""
        words = [word for word, there in zip(self.words or (), features[2:], strict=True) if there]
        empty = self.median is not None and features[1]
        return ", ".join(words) or ("missing" if empty else f"{features[0]:.5g}")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        plain: dict[str, Any] = {"name": self.name}
        if self.median is not None:
            plain["median"] = self.median
        if self.words is not None:
            plain["words"] = list(self.words)
        return plain


@dataclass(frozen=True)
class Categorical:
    """A column of names: one feature, 0 or 1, for each category; others are 0 in all of them.

    With very many names, only frequent ones are categories. The character n-grams of all others are hashed
    into `hashed` features, so that similar names have similar features, even if they are new.
    """

    name: str
    categories: tuple[str, ...]
    hashed: int = 0

    def __post_init__(self) -> None:
        _require_distinct_texts(self.categories)
        if not self.categories or type(self.hashed) is not int or not 0 <= self.hashed <= 1024:
            raise ValueError("a column of names has categories, and up to 1024 hashed features")

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.categories) + self.hashed

    @property
    def is_numeric(self) -> list[bool]:
        """[width]: which features are to be standardised."""
        return [False] * self.width

    def encode(self, values: "pd.Series[Any]", features: Features, source: str) -> None:
        """Write the features [n, width] of the values."""
        if kind_of_input(values, source) == "dates":
            raise InputError(f"{source}: column '{values.name}' holds dates; give names, as in training.")
        codes, texts = as_texts(values)
        _one_hot(codes, texts, self.categories, features)
        if self.hashed:
            known = set(self.categories)
            vectors = _hash([MISSING if text in known else text for text in texts], self.hashed)
            features[:, len(self.categories) :] = vectors[codes]

    def show(self, features: Features) -> str:
        """The value that the features [width] of a row stand for, to be read by a person."""
        held = [text for text, there in zip(self.categories, features, strict=False) if there]
        return "missing" if held == [MISSING] else ", ".join(held) or "–"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        plain = {"name": self.name, "categories": list(self.categories)}
        return {**plain, "hashed": self.hashed} if self.hashed else plain


@dataclass(frozen=True)
class Date:
    """A column of dates or times: year, month, day of the week, hour if any, and days since the earliest.

    Empty cells get the median date. If there were some when it was fitted, a further feature is 1 there.
    """

    name: str
    earliest: str
    median: str
    hour: bool
    missing: bool

    def __post_init__(self) -> None:
        for text in (self.earliest, self.median):
            if not isinstance(text, str) or pd.isna(pd.Timestamp(text)) or pd.Timestamp(text).tz is None:
                raise ValueError("dates have a time zone")
        if type(self.hour) is not bool or type(self.missing) is not bool:
            raise ValueError("hour and missing are true or false")

    @property
    def width(self) -> int:
        """Number of features."""
        return 4 + self.hour + self.missing

    @property
    def is_numeric(self) -> list[bool]:
        """[width]: which features are to be standardised."""
        return [True] * (self.width - self.missing) + [False] * self.missing

    def encode(self, values: "pd.Series[Any]", features: Features, source: str) -> None:
        """Write the features [n, width] of the values."""
        if values.notna().any() and kind_of_input(values, source) == "numbers":
            raise InputError(f"{source}: column '{values.name}' holds numbers; give dates, as in training.")
        found = to_dates(values)
        empty = np.asarray(found.isna())
        found = pd.DatetimeIndex(found.fillna(pd.Timestamp(self.median)))
        parts: list[Any] = [found.year, found.month, found.day_of_week]
        if self.hour:
            parts.append(found.hour)
        parts.append((found - pd.Timestamp(self.earliest)) / pd.Timedelta(days=1))
        if self.missing:
            parts.append(empty)
        for place, part in enumerate(parts):
            features[:, place] = np.asarray(part)

    def show(self, features: Features) -> str:
        """The value that the features [width] of a row stand for, to be read by a person."""
        if self.missing and features[-1]:
            return "missing"
        date = pd.Timestamp(self.earliest) + pd.Timedelta(days=float(features[3 + self.hour]))
        return f"{date:%Y-%m-%d %H:00}" if self.hour else f"{date:%Y-%m-%d}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dict(vars(self))


@dataclass(frozen=True)
class Identifier:
    """A column that names the rows: no feature, but part of every output, as is free text."""

    name: str
    width: ClassVar[int] = 0
    is_numeric: ClassVar[list[bool]] = []

    def encode(self, values: "pd.Series[Any]", features: Features, source: str) -> None:
        """Write nothing."""

    def show(self, features: Features) -> str:
        """Nothing is known from the features."""
        return "–"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"name": self.name, "identifier": True}


@dataclass(frozen=True)
class Text:
    """A column of free text: the features of a frozen embedder."""

    name: str
    embedding: Embedding
    arrays: Mapping[str, npt.NDArray[np.float32]] = field(default_factory=dict, compare=False)
    """Weights of an embedder that was fitted to the texts; stored beside the JSON."""
    embed: Callable[[list[str]], Features] | None = field(default=None, compare=False)
    """The embedder of the training; None: load it when it is needed."""
    trusted: bool = field(default=True, compare=False)
    """Whether code or a file that the embedding names may be loaded."""

    @property
    def width(self) -> int:
        """Number of features."""
        return self.embedding.dimension

    @property
    def is_numeric(self) -> list[bool]:
        """[width]: which features are to be standardised."""
        return [True] * self.width

    def encode(self, values: "pd.Series[Any]", features: Features, source: str) -> None:
        """Write the features [n, width] of the values."""
        features[:] = (self.embed or self._load())(to_texts(values, source))

    def _load(self) -> Callable[[list[str]], Features]:
        from noiselimit.features.texts import load_text_embedder, load_tf_idf, require_trust

        require_trust(self.embedding, self.trusted)
        loaded = load_tf_idf(self.arrays) if self.arrays else load_text_embedder(self.embedding.name)
        self.embedding.require_same(loaded.embedding)
        return loaded.embed

    def show(self, features: Features) -> str:
        """Nothing is known from the features."""
        return "–"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"name": self.name, "text": asdict(self.embedding)}


Column = Numeric | Categorical | Date | Identifier | Text


def to_texts(values: "pd.Series[Any]", source: str) -> list[str]:
    """[n] texts, '' in empty cells."""
    if kind_of_input(values, source) == "dates":
        raise InputError(f"{source}: column '{values.name}' holds dates; give text.")
    codes, texts = as_texts(values)
    return [texts[code] for code in codes]


def column_from_json(item: dict[str, Any]) -> Column:
    """The inverse of the columns' `to_json`; other values raise an exception that `load_run` reports."""
    column: Column
    if "identifier" in item:
        column = Identifier(item["name"])
    elif "text" in item:
        column = Text(item["name"], Embedding(**item["text"]))
    elif "earliest" in item:
        column = Date(**item)
    elif "categories" in item:
        column = Categorical(**{**item, "categories": tuple(item["categories"])})
    elif "words" in item:
        column = Numeric(**{**item, "words": tuple(item["words"])})
    else:
        column = Numeric(**item)
    if column.to_json() != item:
        raise ValueError("not a column of a table")
    return column


def _require_distinct_texts(texts: tuple[str, ...]) -> None:
    if not all(isinstance(text, str) for text in texts) or len(set(texts)) < len(texts):
        raise ValueError("categories are distinct strings")


def _one_hot(
    codes: npt.NDArray[np.int64], texts: list[str], categories: tuple[str, ...], features: Features
) -> None:
    """Write 1 into the feature of each row's category, if it has one."""
    number = {category: place for place, category in enumerate(categories)}
    place = np.array([number.get(text, -1) for text in texts], np.int64)[codes]
    rows = np.flatnonzero(place >= 0)
    features[rows, place[rows]] = 1


def _hash(texts: list[str], features: int) -> Features:
    """[texts, features]: hashed character n-grams of length 1; zeros for an empty text."""
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(
        analyzer="char_wb", ngram_range=LETTERS, n_features=features, dtype=np.float32
    )
    return np.asarray(hashing.transform(texts).toarray(), np.float32)


def kind_of(values: "pd.Series[Any]", source: str) -> Literal["numbers", "names"]:
    """Whether a column holds numbers or names, as labels and weights do; InputError for anything else."""
    found = pd.api.types.infer_dtype(values, skipna=True)
    if found in KINDS:
        return KINDS[found]
    raise _unusable(values, found, source)


def kind_of_input(values: "pd.Series[Any]", source: str) -> Literal["numbers", "names", "dates"]:
    """What a column of inputs holds; numbers mixed with texts are names. InputError for anything else."""
    found = pd.api.types.infer_dtype(values, skipna=True)
    if found in DATES:
        return "dates"
    if found in MIXTURES and all(isinstance(value, SCALARS) or pd.isna(value) is True for value in values):
        return "names"
    if found in KINDS:
        return KINDS[found]
    raise _unusable(values, found, source)


def _unusable(values: "pd.Series[Any]", found: str, source: str) -> InputError:
    remedy = "give numbers, text or dates, or remove the column"
    if found in DATES:
        remedy = "dates can only be inputs"
    elif found in {"time", "timedelta", "timedelta64", "period"}:
        remedy = "give full dates, or numbers such as hours"
    elif found == "bytes":
        remedy = "save the text in UTF-8"
    elif found in MIXTURES:
        kinds = (type(value).__name__ for value in values if not isinstance(value, (*SCALARS, type(None))))
        example = next(kinds, "")
        found = f"mixed ({example})" if example else found
    return InputError(f"{source}: column '{values.name}' has type {found}; {remedy}.")


def numbers(values: "pd.Series[Any]", source: str) -> npt.NDArray[np.float32]:
    """[n] finite numbers, none missing. True is 1, and text counts where it spells a number."""
    kind_of(values, source)
    found = to_float32(values, source)
    row = first(~np.isfinite(found))
    if row is not None:
        problem = "has no number" if np.isnan(found[row]) else "has a number too large for float32"
        raise InputError(f"{source}: column '{values.name}' {problem} in row {row}; correct it.")
    return found


def to_float32(values: "pd.Series[Any]", source: str, *, words: bool = False) -> npt.NDArray[np.float32]:
    """[n] numbers, NaN in empty cells and infinite if too large.

    Words raise InputError, or are NaN if they are allowed.
    """
    kind = kind_of_input(values, source)
    if kind == "dates":
        raise InputError(f"{source}: column '{values.name}' holds dates; give numbers, as in training.")
    if kind == "numbers" or pd.api.types.is_bool_dtype(values):
        found = values.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        codes, texts = as_texts(values)
        parsed = parse_numbers(texts)
        row = first((np.isnan(parsed) & (np.array(texts, dtype=object) != MISSING))[codes])
        if row is not None and not words:
            problem = f"column '{values.name}' holds '{texts[codes[row]]}' in row {row}"
            raise InputError(f"{source}: {problem}; give a number.")
        found = parsed[codes]
    with np.errstate(over="ignore"):
        return found.astype(np.float32)


def parse_numbers(texts: list[str]) -> npt.NDArray[np.float64]:
    """The numbers that the texts spell, NaN if none."""
    return np.asarray(pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce"), np.float64)


def to_dates(values: "pd.Series[Any]") -> pd.DatetimeIndex:
    """[n] times in UTC, NaT for anything that is no date in the ISO format."""
    if isinstance(values.dtype, pd.DatetimeTZDtype) or values.dtype.kind == "M":
        return pd.DatetimeIndex(pd.to_datetime(values, utc=True))
    codes, texts = as_texts(values)
    return parse_dates(texts)[codes]


def parse_dates(texts: list[str]) -> pd.DatetimeIndex:
    """The dates that the texts spell, NaT if none."""
    spelled = [text if ISO_DATE.fullmatch(text) else None for text in texts]
    return pd.DatetimeIndex(
        pd.to_datetime(pd.Series(spelled, dtype=object), format="ISO8601", errors="coerce", utc=True)
    )


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

"""The kinds of columns in a table, and how their values become features.

Each kind is a class with `width`, `is_numeric`, `encode`, `show` and `to_json`. They are stored as plain
JSON, so that a run folder holds nothing that could be executed.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.data.arrays import first
from noiselimit.data.cells import (
    MISSING,
    as_texts,
    kind_of,
    to_dates,
    to_float32,
    to_texts,
)
from noiselimit.errors import InputError
from noiselimit.features.cache import Embedding

LETTERS = (2, 4)  # lengths of the character n-grams that are hashed

Features = npt.NDArray[Any]


@dataclass(frozen=True)
class Column:
    """A column of a table. Its kind says how its values become features."""

    name: str

    @property
    def is_numeric(self) -> list[bool]:
        """[width]: which features are to be standardised."""
        return []

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.is_numeric)

    def encode(self, values: "pd.Series[Any]", features: Features, source: str) -> int:
        """Write the features [n, width] of the values, where there are zeros.

        Returns how many cells count as missing although they are not empty.
        """
        return 0

    def show(self, features: Features) -> str:
        """The value that the features [width] of a row stand for, to be read by a person."""
        return "–"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values: the fields that are not at their defaults."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.compare}
        usual = {each.name: each.default for each in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value != usual[name]
        }


@dataclass(frozen=True)
class Numeric(Column):
    """A column of numbers: one feature, to be standardised.

    If cells were empty when it was fitted, they get the median, and a second feature is 1 there. If it held
    words too, they count as empty, and each of the `words` has a further feature.
    """

    median: float | None = None
    """None if no cell was empty."""
    words: tuple[str, ...] | None = None
    """None if a word is an error."""
    decimal: str = "."
    """The decimal mark in texts; the other one of point and comma stands between thousands."""
    mean: float | None = field(default=None, compare=False)
    """What an empty cell gets if there is no median; not part of the JSON."""

    def __post_init__(self) -> None:
        if self.median is not None and not math.isfinite(self.median):
            raise ValueError("a median is a finite number")
        if self.words is not None:
            _require_distinct_texts(self.words)
            if self.median is None:
                raise ValueError("words need a median")
        if self.decimal not in (".", ","):
            raise ValueError("the decimal mark is a point or a comma")

    @property
    def is_numeric(self) -> list[bool]:
        return [True] + [False] * ((self.median is not None) + len(self.words or ()))

    def encode(self, values: "pd.Series[Any]", features: Features, source: str) -> int:
        found = to_float32(values, source, decimal=self.decimal, words=self.words is not None)
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
            empty = empty & ~features[:, 2:].any(1)
        return _count_filled(values, empty)

    def show(self, features: Features) -> str:
        words = [word for word, there in zip(self.words or (), features[2:], strict=True) if there]
        empty = self.median is not None and features[1]
        return ", ".join(words) or ("missing" if empty else f"{features[0]:.5g}")


BOOLEANS = {"1": "true", "0": "false"}
"""How other programs write the values of a boolean column, besides True, true and TRUE."""


@dataclass(frozen=True)
class Categorical(Column):
    """A column of names: one feature, 0 or 1, for each category; others are 0 in all of them.

    With very many names, only frequent ones are categories. The character n-grams of all others are hashed
    into `hashed` features, so that similar names have similar features, even if they are new.
    """

    categories: tuple[str, ...]
    hashed: int = 0

    def __post_init__(self) -> None:
        _require_distinct_texts(self.categories)
        if not self.categories or type(self.hashed) is not int or not 0 <= self.hashed <= 1024:
            raise ValueError("a column of names has categories, and up to 1024 hashed features")

    @property
    def is_numeric(self) -> list[bool]:
        return [False] * (len(self.categories) + self.hashed)

    def encode(self, values: "pd.Series[Any]", features: Features, source: str) -> int:
        if kind_of(values, source) == "dates":
            raise InputError(f"{source}: column '{values.name}' holds dates; give names, as in training.")
        codes, texts = as_texts(values)
        if spelled := {text.lower(): text for text in self.categories if text.lower() in ("true", "false")}:
            words = [BOOLEANS.get(text, text.lower()) for text in texts]
            known = set(self.categories)
            texts = [
                text if text in known else spelled.get(word, text)
                for word, text in zip(words, texts, strict=True)
            ]
        _one_hot(codes, texts, self.categories, features)
        if self.hashed:
            known = set(self.categories)
            vectors = _hash([MISSING if text in known else text for text in texts], self.hashed)
            features[:, len(self.categories) :] = vectors[codes]
        return 0

    def show(self, features: Features) -> str:
        held = [text for text, there in zip(self.categories, features, strict=False) if there]
        return "missing" if held == [MISSING] else ", ".join(held) or "–"


@dataclass(frozen=True)
class Date(Column):
    """A column of dates or times: year, month, day of the week, hour if any, and days since the earliest.

    Empty cells get the median date. If there were some when it was fitted, a further feature is 1 there.
    """

    earliest: str
    median: str
    hour: bool
    missing: bool
    day_first: bool | None = None
    """What 3/4/2021 is: 3 April if true, 4 March if false, and no date if it is None."""

    def __post_init__(self) -> None:
        for text in (self.earliest, self.median):
            if not isinstance(text, str) or pd.isna(pd.Timestamp(text)) or pd.Timestamp(text).tz is None:
                raise ValueError("dates have a time zone")
        if type(self.hour) is not bool or type(self.missing) is not bool:
            raise ValueError("hour and missing are true or false")
        if self.day_first not in (None, True, False):
            raise ValueError("day_first is true, false or null")

    @property
    def is_numeric(self) -> list[bool]:
        return [True] * (4 + self.hour) + [False] * self.missing

    def encode(self, values: "pd.Series[Any]", features: Features, source: str) -> int:
        if values.notna().any() and kind_of(values, source) == "numbers":
            raise InputError(f"{source}: column '{values.name}' holds numbers; give dates, as in training.")
        found = to_dates(values, self.day_first)
        empty = np.asarray(found.isna())
        found = pd.DatetimeIndex(found.fillna(pd.Timestamp(self.median)))
        days = (found - pd.Timestamp(self.earliest)) / pd.Timedelta(days=1)
        hours, flags = [found.hour] * self.hour, [empty] * self.missing
        for place, part in enumerate([found.year, found.month, found.day_of_week, *hours, days, *flags]):
            features[:, place] = np.asarray(part)
        return _count_filled(values, empty)

    def show(self, features: Features) -> str:
        if self.missing and features[-1]:
            return "missing"
        date = pd.Timestamp(self.earliest) + pd.Timedelta(days=float(features[3 + self.hour]))
        return f"{date:%Y-%m-%d %H:00}" if self.hour else f"{date:%Y-%m-%d}"


@dataclass(frozen=True)
class Identifier(Column):
    """A column that names the rows: no feature, but part of every output, as is free text."""

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "identifier": True}


@dataclass(frozen=True)
class Text(Column):
    """A column of free text: the features of a frozen embedder."""

    embedding: Embedding
    arrays: Mapping[str, npt.NDArray[np.float32]] = field(default_factory=dict, compare=False)
    """Weights of an embedder that was fitted to the texts; stored beside the JSON."""
    embed: Callable[[list[str]], Features] | None = field(default=None, compare=False)
    """The embedder of the training; None: load it when it is needed."""
    trusted: bool = field(default=True, compare=False)
    """Whether code or a file that the embedding names may be loaded."""

    @property
    def is_numeric(self) -> list[bool]:
        return [True] * self.embedding.dimension

    def encode(self, values: "pd.Series[Any]", features: Features, source: str) -> int:
        features[:] = (self.embed or self._load())(to_texts(values, source))
        return 0

    def _load(self) -> Callable[[list[str]], Features]:
        from noiselimit.features.texts import load_text_embedder, load_tf_idf, require_trust

        require_trust(self.embedding, self.trusted)
        loaded = load_tf_idf(self.arrays) if self.arrays else load_text_embedder(self.embedding.name)
        self.embedding.require_same(loaded.embedding)
        return loaded.embed

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "text": asdict(self.embedding)}


def column_from_json(item: dict[str, Any]) -> Column:
    """The inverse of the columns' `to_json`; `Table.from_json` checks that it is."""
    if "identifier" in item:
        return Identifier(item["name"])
    if "text" in item:
        return Text(item["name"], Embedding(**item["text"]))
    lists = ("categories", "words")
    values: dict[str, Any] = {key: tuple(item[key]) if key in lists else item[key] for key in item}
    return (Date if "earliest" in item else Categorical if "categories" in item else Numeric)(**values)


def _require_distinct_texts(texts: tuple[str, ...]) -> None:
    if not all(isinstance(text, str) for text in texts) or len(set(texts)) < len(texts):
        raise ValueError("categories are distinct strings")


def _count_filled(values: "pd.Series[Any]", rows: npt.NDArray[np.bool_]) -> int:
    """How many cells in these rows hold something."""
    cells = values[rows]
    return int((cells.notna() & (cells != MISSING)).sum())


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

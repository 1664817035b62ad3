"""Which columns of a table are numbers and which are names: decided once, on all labelled rows."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.data.columns import MISSING, Categorical, Numeric, as_texts, kind_of
from noiselimit.data.table import Table, require_distinct_names
from noiselimit.errors import InputError

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

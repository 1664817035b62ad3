"""From a DataFrame and its labels to a data set."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.data.columns import MISSING, as_texts, kind_of, numbers
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.labels import Labels
from noiselimit.data.missing_labels import fill_labels, without_labels
from noiselimit.data.table_fit import fit_table
from noiselimit.errors import InputError

MANY = 20
"""From so many rows on, more classes than half the rows are taken for a mistake."""


def is_table(value: Any) -> bool:
    """A DataFrame whose columns have names; one with numbered columns is a matrix and treated as an array."""
    return isinstance(value, pd.DataFrame) and all(isinstance(name, str) for name in value.columns)


def frame_data_set(
    inputs: pd.DataFrame,
    labels: Any,
    *,
    name: str = "table",
    source: str = "the table",
    clean_labels: Any = None,
    weights: Any = None,
    keep_unlabelled: bool = False,
) -> DataSet:
    """Rows with a label [n] each, of any numbers or text: the classes are the distinct labels in order.

    The data set's `table` holds how the rows became features. `keep_unlabelled`: rows without a label are
    kept, with −1 for one.
    """
    given = _column(labels, "label", inputs, source)
    missing = None
    if keep_unlabelled:
        filled, missing = fill_labels(given, f"{source}: column '{given.name}'")
        given = given if not missing.any() else pd.Series(filled, name=given.name)
    table = fit_table(inputs, source)
    names, encoded = class_numbers(given, source)
    clean = None
    if clean_labels is not None:
        clean = _encode(_column(clean_labels, "clean label", inputs, source), names, source)
    if weights is not None:
        weights = numbers(_column(weights, "weight", inputs, source), source)
    features = table.encode(inputs, source)
    examples = make_examples(
        features, encoded, class_names=names, clean_labels=clean, weights=weights, source=source
    )
    return DataSet(name, examples if missing is None else without_labels(examples, missing), table=table)


def _column(values: Any, what: str, inputs: pd.DataFrame, source: str) -> "pd.Series[Any]":
    """A named column as long as the inputs; its own row numbers, where it has any, do not matter."""
    series = values if isinstance(values, pd.Series) else pd.Series(np.asarray(values), name=what)
    if len(series) != len(inputs):
        raise InputError(
            f"{source}: there are {len(inputs)} inputs but {len(series)} {what}s; give one {what} per input."
        )
    return series


def class_numbers(labels: "pd.Series[Any]", source: str) -> tuple[tuple[str, ...], Labels]:
    """(class names in numeric or else alphabetic order, labels [n] that number them)."""
    codes, texts = _label_texts(labels, source)
    if len(texts) == len(codes) > 1 or (len(codes) >= MANY and 2 * len(texts) > len(codes)):
        raise InputError(
            f"{source}: column '{labels.name}' has {len(texts)} different values in {len(codes)} rows, so it "
            "holds no classes; name another column of labels."
        )
    if kind_of(labels, source) == "names":
        return tuple(texts), codes
    order = sorted(range(len(texts)), key=lambda code: int(texts[code]))
    return tuple(texts[code] for code in order), np.argsort(order)[codes]


def _encode(labels: "pd.Series[Any]", names: tuple[str, ...], source: str) -> Labels:
    codes, texts = _label_texts(labels, source)
    number = {name: place for place, name in enumerate(names)}
    encoded = np.array([number.get(text, -1) for text in texts], np.int64)[codes]
    if encoded.min() < 0:
        row = int(np.argmin(encoded))
        raise InputError(
            f"{source}: column '{labels.name}' has '{texts[codes[row]]}' in row {row}, which no given label "
            "is; correct it or remove that row."
        )
    return encoded


def _stripped(codes: npt.NDArray[np.int64], texts: list[str]) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Blanks around a label are a slip of the hand: nobody would see which of two classes is which."""
    kept = sorted({text.strip() for text in texts})
    place = {text: number for number, text in enumerate(kept)}
    return np.array([place[text.strip()] for text in texts], np.int64)[codes], kept


def _label_texts(labels: "pd.Series[Any]", source: str) -> tuple[npt.NDArray[np.int64], list[str]]:
    """(codes [n], distinct texts), none of them empty, without blanks around; numbers must be whole."""
    is_number = kind_of(labels, source) == "numbers"
    codes, texts = _stripped(*as_texts(labels))
    for code, text in enumerate(texts):
        no_class = is_number and not text.removeprefix("-").isdecimal()
        if text != MISSING and not no_class:
            continue
        row = int(np.argmax(codes == code))
        if text == MISSING:
            raise InputError(
                f"{source}: column '{labels.name}' has no label in row {row}; fill it in or remove that row."
            )
        raise InputError(
            f"{source}: column '{labels.name}' has {text} in row {row}, which is no class; "
            "give whole numbers or names."
        )
    return codes, texts

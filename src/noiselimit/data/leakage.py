"""Columns of a table that give the label away, or only number the rows: notes on what to leave out.

A network that sees such a column learns wrong labels as easily as right ones.
"""

import shlex
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from noiselimit.data.arrays import Labels
from noiselimit.data.tables import kind_of

BY_CHANCE = 1e-6
"""Probability below which agreement between a column and the labels is not chance."""
FEWEST_NUMBERED = 20
"""With fewer rows, different values in all of them may be chance."""
GAPS = 1.1
"""Row numbers may go up to so many times the number of rows, because some rows were removed."""
MOST_NAMED = 10


def column_notes(
    frame: pd.DataFrame, labels: Labels, source: str, remedy: Callable[[Sequence[str]], str]
) -> tuple[str, ...]:
    """Notes on suspicious columns; labels [n] are −1 where missing.

    `remedy` tells how to leave out columns, given their names.
    """
    numbering = [name for name in frame.columns if numbers_rows(frame[name])]
    others = [name for name in frame.columns if name not in numbering]
    telling = [name for name in others if tells_label(frame[name], labels)]
    notes = []
    if telling:
        notes.append(
            f"{source}: {_named(telling)}: each value occurs with one label only; if made from the label, "
            f"{remedy(telling)}."
        )
    if numbering:
        notes.append(
            f"{source}: {_named(numbering)}: different in every row, like row numbers or identifiers; unless "
            f"meaningful, {remedy(numbering)}."
        )
    return tuple(notes)


def numbers_rows(values: "pd.Series[Any]") -> bool:
    """Whether a column differs in all rows, as whole numbers in sequence or as names."""
    rows = len(values)
    if rows < FEWEST_NUMBERED or not values.is_unique:
        return False
    if kind_of(values, "the table") == "names":
        return True
    plain = isinstance(values.dtype, np.dtype) and values.dtype.kind in "iu"
    found = values.to_numpy() if plain else values.to_numpy(np.float64, na_value=np.nan)
    low, high = float(found.min()), float(found.max())
    if not high - low >= rows - 1 or not np.array_equal(found, np.floor(found)):
        return False
    if (found[1:] > found[:-1]).all() or (found[1:] < found[:-1]).all():
        return True
    return high - low < GAPS * rows


def tells_label(values: "pd.Series[Any]", labels: Labels) -> bool:
    """Whether every value occurs with one label only, and too often for chance.

    A measurement in which a few values recur does not count: there must be fewer values than half the rows,
    and most rows of every class must share their value with others.
    """
    labelled = labels >= 0
    if not labelled.all():
        values, labels = values[labelled], labels[labelled]
    owners = _owners(values, labels)
    return owners is not None and 2 * len(owners[0]) <= len(labels) and _beyond_chance(*owners, labels)


def _owners(values: "pd.Series[Any]", labels: Labels) -> tuple[Labels, Labels] | None:
    """(label, number of rows) of each distinct value; None if a value occurs with several labels."""
    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    owner = np.empty(len(distinct), np.int64)
    owner[codes] = labels  # the last one stays
    if not np.array_equal(owner[codes], labels):
        return None
    return owner, np.bincount(codes, minlength=len(distinct))


def _beyond_chance(owner: Labels, rows: Labels, labels: Labels) -> bool:
    """Rows that share a value would agree by chance with the frequency of their class."""
    sizes = np.bincount(labels)
    shared = np.bincount(owner[rows > 1], weights=rows[rows > 1], minlength=len(sizes))
    agreeing = np.bincount(owner, weights=rows - 1, minlength=len(sizes))
    occurs = sizes > 0
    if occurs.sum() < 2 or (2 * shared < sizes)[occurs].any():
        return False
    return bool(agreeing[occurs] @ np.log(sizes[occurs] / len(labels)) < np.log(BY_CHANCE))


def _named(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"column {names[0]!r}"
    return f"columns {', '.join(map(repr, names[:MOST_NAMED]))}{', …' if len(names) > MOST_NAMED else ''}"


def by_option(names: Sequence[str]) -> str:
    """Remedy for the command line, to be typed as it is: `leave it out with --ignore id`."""
    typed = shlex.quote(",".join(names))
    plain = typed.isprintable() and not any(set(name) & set(',"') or name != name.strip() for name in names)
    shown = f" {typed}" if len(names) <= MOST_NAMED and plain else ""
    return f"leave {'it' if len(names) == 1 else 'them'} out with --ignore{shown}"


def by_drop(names: Sequence[str]) -> str:
    """Remedy for Python: `leave it out with X.drop(columns=['id'])`."""
    return f"leave {'it' if len(names) == 1 else 'them'} out with X.drop(columns={list(names)!r})"

"""Columns of a table that give the labels away, or only number the rows: notes on what to leave out.

A network that is shown such a column learns wrong labels as easily as right ones.
"""

import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from noiselimit.data.arrays import Labels
from noiselimit.data.tables import kind_of
from noiselimit.randomness import Stream, random_words

FIRST_LOOK = 10_000
"""Rows, drawn at random, that are looked at before all of them are: enough to see that a column does not
tell. With half as many values as rows, or fewer, about FIRST_LOOK² / 2n pairs of them agree."""
BY_CHANCE = 1e-6
"""Columns that have nothing to do with the labels may tell them in so few of all cases."""
FEWEST_NUMBERED = 20
"""Rows below which different values in all of them may well be chance."""
GAPS = 1.1
"""Row numbers may go up to so many times the rows, where some rows were removed."""
MOST_NAMED = 10


def column_notes(
    frame: pd.DataFrame, labels: Labels, source: str, remedy: Callable[[Sequence[str]], str]
) -> tuple[str, ...]:
    """A sentence on each kind of such columns that there is; labels [n], −1 where missing.

    `remedy` says how to leave columns out, by their names.
    """
    numbering = [name for name in frame.columns if numbers_rows(frame[name])]
    others = [name for name in frame.columns if name not in numbering]
    telling = [name for name in others if tells_label(frame[name], labels)]
    return tuple(_sentences(numbering, telling, source, remedy))


def _sentences(
    numbering: Sequence[str], telling: Sequence[str], source: str, remedy: Callable[[Sequence[str]], str]
) -> Iterator[str]:
    if telling:
        one = len(telling) == 1
        tell, its, it_was = ("tells", "its", "it was") if one else ("tell", "their", "they were")
        yield (
            f"{source}: {_named(telling)} {tell} the label without any other, because each of {its} values "
            f"occurs with one label only; if {it_was} made from the label, {remedy(telling)}."
        )
    if numbering:
        one = len(numbering) == 1
        differ, look, it_means = ("differs", "looks", "it means") if one else ("differ", "look", "they mean")
        yield (
            f"{source}: {_named(numbering)} {differ} in every row and {look} like row numbers or "
            f"identifiers; unless {it_means} something, {remedy(numbering)}."
        )


def numbers_rows(values: "pd.Series[Any]") -> bool:
    """Whether a column differs in all rows by more than chance: whole numbers in sequence, or any names."""
    rows = len(values)
    if rows < FEWEST_NUMBERED or not values.iloc[:FIRST_LOOK].is_unique:
        return False
    if kind_of(values, "the table") == "names":
        return bool(values.is_unique)
    plain = isinstance(values.dtype, np.dtype) and values.dtype.kind in "iu"
    found = values.to_numpy() if plain else values.to_numpy(np.float64, na_value=np.nan)
    if not np.array_equal(found[:FIRST_LOOK], np.floor(found[:FIRST_LOOK])):
        return False
    low, high = float(found.min()), float(found.max())
    if not high - low >= rows - 1 or not np.array_equal(found, np.floor(found)):
        return False
    if (found[1:] > found[:-1]).all() or (found[1:] < found[:-1]).all():
        return True
    return high - low < GAPS * rows and bool(np.bincount((found - found.min()).astype(np.int64)).max() == 1)


def tells_label(values: "pd.Series[Any]", labels: Labels) -> bool:
    """Whether every value occurs with one label only, where values recur so often that chance is ruled out.

    A measurement with a few values that recur is no such column: values must be fewer than half as many as
    rows, and most rows of every class must share theirs with others.
    """
    there = labels >= 0
    if not there.all():
        values, labels = values[there], labels[there]
    if len(labels) > 2 * FIRST_LOOK:
        rows = _some_rows(len(labels))
        few = _owners(values.iloc[rows], labels[rows])
        if few is None or len(few[0]) == len(rows):
            return False
    owners = _owners(values, labels)
    return owners is not None and 2 * len(owners[0]) <= len(labels) and _beyond_chance(*owners, labels)


def _some_rows(rows: int) -> Labels:
    """Some of them at random, so many that values which recur will recur here."""
    count = max(FIRST_LOOK, round(10 * rows**0.5))
    return np.unique(random_words(0, Stream.ORDER, 0, count) % np.uint64(rows)).astype(np.int64)


def _owners(values: "pd.Series[Any]", labels: Labels) -> tuple[Labels, Labels] | None:
    """(the label, the number of rows) of each distinct value; None where a value has several labels."""
    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    owner = np.empty(len(distinct), np.int64)
    owner[codes] = labels  # the last one stays
    if not np.array_equal(owner[codes], labels):
        return None
    return owner, np.bincount(codes, minlength=len(distinct))


def _beyond_chance(owner: Labels, rows: Labels, labels: Labels) -> bool:
    """The rows that share a value agree on their label, given one of them, with the share of that class."""
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
    shown = ", ".join(map(repr, names[:MOST_NAMED])) + (", …" if len(names) > MOST_NAMED else "")
    return f"{len(names)} columns ({shown})"


def by_option(names: Sequence[str]) -> str:
    """`leave it out with --ignore id`, to be typed as it is."""
    typed = shlex.quote(",".join(map(_cell, names)))
    what = "it" if len(names) == 1 else "them"
    if len(names) > MOST_NAMED or not typed.isprintable():
        return f"leave {what} out with --ignore"
    return f"leave {what} out with --ignore {typed}"


def _cell(name: str) -> str:
    """As in a CSV, so that a name may have a comma."""
    plain = not set(name) & set(',"') and name == name.strip()
    return name if plain else '"' + name.replace('"', '""') + '"'


def by_drop(names: Sequence[str]) -> str:
    """`leave it out with X.drop(columns=['id'])`"""
    what = "it" if len(names) == 1 else "them"
    return f"leave {what} out with X.drop(columns={list(names)!r})"

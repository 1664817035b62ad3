"""Columns of a table that give the label away: notes on what to leave out.

A network that sees such a column learns wrong labels as easily as right ones.
"""

import shlex
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from noiselimit.data.arrays import Labels
from noiselimit.data.tables import MOST_NAMED, named

BY_CHANCE = 1e-6
"""Probability below which agreement between a column and the labels is not chance."""


def column_notes(
    frame: pd.DataFrame, labels: Labels, source: str, remedy: Callable[[Sequence[str]], str]
) -> tuple[str, ...]:
    """Notes on suspicious columns; labels [n] are −1 where missing.

    `remedy` tells how to leave out columns, given their names.
    """
    leaking = [name for name in frame.columns if leaks_label(frame[name], labels)]
    if not leaking:
        return ()
    return (
        f"{source}: {named(leaking)}: each value occurs with one label only; if made from the label, "
        f"{remedy(leaking)}.",
    )


def leaks_label(values: "pd.Series[Any]", labels: Labels) -> bool:
    """Whether every value occurs with one label only, and too often for chance.

    A measurement in which a few values recur does not count: there must be fewer values than half the rows,
    and most rows of every class must share their value with others.
    """
    labelled = labels >= 0
    values, labels = values[labelled], labels[labelled]
    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    owner = np.empty(len(distinct), np.int64)  # the label of each distinct value
    owner[codes] = labels
    if not np.array_equal(owner[codes], labels) or 2 * len(owner) > len(labels):
        return False
    rows = np.bincount(codes, minlength=len(owner))
    sizes = np.bincount(labels)
    shared = np.bincount(owner[rows > 1], weights=rows[rows > 1], minlength=len(sizes))
    occurs = sizes > 0
    if occurs.sum() < 2 or (2 * shared < sizes)[occurs].any():
        return False
    # Rows that share a value would agree by chance with the frequency of their class.
    agreeing = np.bincount(owner, weights=rows - 1, minlength=len(sizes))
    return bool(agreeing[occurs] @ np.log(sizes[occurs] / len(labels)) < np.log(BY_CHANCE))


def by_option(names: Sequence[str]) -> str:
    """Remedy for the command line, to be typed as it is: `leave it out with --ignore id`."""
    typed = shlex.quote(",".join(names))
    plain = typed.isprintable() and not any(set(name) & set(',"') or name != name.strip() for name in names)
    shown = f" {typed}" if len(names) <= MOST_NAMED and plain else ""
    return f"leave {'it' if len(names) == 1 else 'them'} out with --ignore{shown}"


def by_drop(names: Sequence[str]) -> str:
    """Remedy for Python: `leave it out with X.drop(columns=['id'])`."""
    return f"leave {'it' if len(names) == 1 else 'them'} out with X.drop(columns={list(names)!r})"

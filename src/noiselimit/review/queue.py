"""Which rows a reviewer sees, and in which order."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from noiselimit.audit.saved import SavedAudit
from noiselimit.errors import InputError, unknown
from noiselimit.review.estimate import Flags, Floats, Integers

ORDERS = ("probability", "pairs", "diverse")
SCOPES = ("flagged", "all")
STATES = ("open", "decided", "unsure", "conflict", "any")
CHECK_EVERY = 8
"""One in so many rows is a random check."""
FEWEST_CHECKS = 10
"""If fewer come up among few flagged rows, more follow at the end."""
FLAGGED_EVERY = 3
"""One in so many checks is a flagged row; those are reviewed anyway."""
SEEDS = (20260, 20261)
"""Of the random orders of flagged and unflagged rows: restarts and tabs must agree on them."""
LONGEST_QUEUE = 250_000


@dataclass(frozen=True)
class Filter:
    """Which rows to list, and how."""

    order: str = "diverse"
    scope: str = "flagged"
    state: str = "open"
    given: int | None = None
    suggested: int | None = None
    low: float = 0.0
    high: float = 1.0
    search: str = ""

    def __post_init__(self) -> None:
        for name, value, known in (
            ("order", self.order, ORDERS),
            ("scope", self.scope, SCOPES),
            ("state", self.state, STATES),
        ):
            if value not in known:
                raise unknown(name, value, known)
        if not 0 <= self.low <= self.high <= 1:
            raise InputError(f"probability {self.low:g} to {self.high:g}: give an interval within 0 and 1.")


@dataclass(eq=False)
class Queue:
    """The rows of an audit as a reviewer needs them; all arrays are [n]."""

    given: Integers
    """Class numbers; −1 if missing."""
    suggested: Integers
    probability: Floats
    """Of the given label being wrong."""
    is_flagged: Flags
    class_names: tuple[str, ...]
    texts: dict[str, "pd.Series[Any]"] = field(default_factory=dict)
    """What a search looks at: names and texts of the examples."""

    def __post_init__(self) -> None:
        labelled = self.given >= 0
        self.flagged, self.unflagged = (
            np.random.default_rng(seed).permutation(np.flatnonzero(rows & labelled))
            for seed, rows in zip(SEEDS, (self.is_flagged, ~self.is_flagged), strict=True)
        )  # in the random order in which checks are drawn
        self.rank(self.probability, self.suggested, self.is_flagged)

    @staticmethod
    def of(saved: SavedAudit) -> "Queue":
        """The rows of a saved audit."""
        table = saved.table
        codes = [
            pd.Categorical(table[name], categories=list(saved.class_names)).codes.astype(np.int64)
            for name in ("given_label", "predicted_label")
        ]
        probability = np.nan_to_num(table["error_probability"].to_numpy(np.float64))
        texts = {name: table[name].astype(str) for name in saved.data_columns}
        flags = table["is_label_issue"].to_numpy(bool)
        return Queue(codes[0], codes[1], probability, flags, saved.class_names, texts)

    def rank(self, probability: Floats, suggested: Integers, listed: Flags) -> None:
        """Order rows by these probabilities from now on, and list these as well as the flagged ones."""
        self.probability, self.suggested = probability, suggested
        self.listed = (listed | self.is_flagged) & (self.given >= 0)
        self._by_probability = np.argsort(-probability, kind="stable")
        pair = self.given * len(self.class_names) + suggested
        ordered = pd.Series(pair[self._by_probability])
        sizes = pd.Series(pair[self.listed]).value_counts()
        size = ordered.map(sizes).fillna(0).to_numpy(np.int64)
        within = ordered.groupby(ordered).cumcount().to_numpy(np.int64)
        self._by_pair = self._by_probability[np.lexsort((within, ordered, -size))]
        self._diverse = self._by_probability[np.argsort(within, kind="stable")]

    def rows(
        self, wanted: Filter, decided: Flags, unsure: Flags, conflict: Flags
    ) -> tuple[Integers, Integers]:
        """(rows in order, places in that list of random checks).

        Random checks are mixed in while flagged rows without a decision are reviewed.
        """
        orders = {"probability": self._by_probability, "pairs": self._by_pair, "diverse": self._diverse}
        listed = orders[wanted.order]
        states = {
            "open": ~decided,
            "decided": decided,
            "unsure": unsure,
            "conflict": conflict,
            "any": np.ones(len(decided), bool),
        }
        keep = states[wanted.state] & (self.given >= 0)
        if wanted.scope == "flagged":
            keep &= self.listed
        for classes, number in ((self.given, wanted.given), (self.suggested, wanted.suggested)):
            if number is not None:
                keep &= classes == number
        keep &= (self.probability >= wanted.low) & (self.probability <= wanted.high)
        if wanted.search:
            keep &= self._matches(wanted.search)
        listed = listed[keep[listed]][:LONGEST_QUEUE]
        if wanted.scope != "flagged" or wanted.state != "open" or wanted.search:
            return listed, np.zeros(0, np.int64)
        return self._with_checks(listed, decided)

    def _matches(self, search: str) -> Flags:
        """[n]: a name, a text or a class contains the words, or the row has this number."""
        words = search.casefold()
        found = np.zeros(len(self.given), bool)
        for text in self.texts.values():
            found |= text.str.casefold().str.contains(words, regex=False).to_numpy(bool)
        classes = [number for number, name in enumerate(self.class_names) if words in name.casefold()]
        found |= np.isin(self.given, classes) | np.isin(self.suggested, classes)
        if search.strip().isdecimal() and int(search) < len(found):
            found[int(search)] = True
        return found

    def _with_checks(self, listed: Integers, decided: Flags) -> tuple[Integers, Integers]:
        """Mix in rows drawn at random, from both groups; each row is listed once."""
        waiting: list[Iterator[int]] = [
            iter(group[~decided[group]].tolist()) for group in (self.unflagged, self.flagged)
        ]
        places = np.full(len(decided), len(listed))  # of each row in the order
        places[listed] = np.arange(len(listed))
        place = places.tolist()
        taken: set[int] = set()
        mixed: list[int] = []
        checks: list[int] = []

        def draw(at: int) -> int | None:
            first = int(len(checks) % FLAGGED_EVERY == FLAGGED_EVERY - 1)
            for turn in (first, 1 - first):
                for row in waiting[turn]:
                    if place[row] >= at:  # otherwise it was listed above
                        return row
            return None

        def add(drawn: int | None) -> None:
            if drawn is not None:
                checks.append(len(mixed))
                mixed.append(drawn)
                taken.add(drawn)

        since = 0
        for at, row in enumerate(listed.tolist()):
            if row in taken:
                continue
            mixed.append(row)
            since += 1
            if since == CHECK_EVERY - 1:
                since = 0
                add(draw(at + 1))
        for _ in range(FEWEST_CHECKS - len(checks) if mixed else 0):
            add(draw(len(listed)))
        return np.array(mixed, np.int64), np.array(checks, np.int64)

    def pairs(self, most: int) -> list[dict[str, int]]:
        """The most frequent pairs of given and suggested class among the rows that are listed."""
        rows = np.flatnonzero(self.listed)
        pair = self.given[rows] * len(self.class_names) + self.suggested[rows]
        values, counts = np.unique(pair, return_counts=True)
        classes = len(self.class_names)
        return [
            {
                "given": int(values[i]) // classes,
                "suggested": int(values[i]) % classes,
                "count": int(counts[i]),
            }
            for i in np.argsort(-counts, kind="stable")[:most]
        ]

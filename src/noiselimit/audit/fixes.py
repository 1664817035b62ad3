"""What is done to which row of the data, whatever file they are in."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from noiselimit.audit.quality import Flags, Labels
from noiselimit.errors import InputError


@dataclass(frozen=True, eq=False)
class Fixes:
    """Rows to keep and labels to give; classes are numbers in no particular order, −1 where missing."""

    kept: Flags
    """[n]"""
    changed: Flags
    """[n]: whether the row gets the suggested label, which is another than its own."""
    given: Labels
    """[n]"""
    wanted: Labels
    """[n]: the suggested label where changed, else the given one."""
    classes: "pd.Index[Any]"
    """What the audit calls the classes."""

    @classmethod
    def of(cls, table: pd.DataFrame, fix: str) -> "Fixes":
        """From an audit's table."""
        flagged = table["is_label_issue"].to_numpy(bool)
        codes, classes = pd.factorize(pd.concat([table["given_label"], table["predicted_label"]]))
        given, predicted = codes[: len(table)].astype(np.int64), codes[len(table) :].astype(np.int64)
        if fix == "drop":
            return cls(~flagged, np.zeros(len(table), bool), given, given, pd.Index(classes))
        changed = flagged & (given != predicted)
        wanted = np.where(changed, predicted, given)
        return cls(np.ones(len(table), bool), changed, given, wanted, pd.Index(classes))

    def require_rows(self, rows: int, source: str) -> None:
        """The source must be what was audited."""
        if rows != len(self.kept):
            raise InputError(
                f"{source}: there are {rows} rows but the audit has {len(self.kept)}; "
                "audit the file as it is now."
            )

    def spelled_as(self, spellings: Any, source: str) -> Labels:
        """[n]: the row whose label each row is to have, its own where it stays as it is.

        `spellings` [n] are the labels in the source. A class may be spelled in several ways there, such as
        with blanks around; a new label is spelled in the commonest. So it needs no formatting.
        """
        self.require_rows(len(spellings), source)
        codes, _ = pd.factorize(spellings)
        seen = pd.DataFrame({"label": self.given, "spelling": codes, "row": np.arange(len(codes))})
        found = seen.groupby(["label", "spelling"], sort=False)["row"].agg(["size", "first"]).reset_index()
        several = found["spelling"].duplicated()
        if several.any():
            row = int(found.loc[several, "first"].iloc[0])
            raise InputError(
                f"{source}: the label in row {row} is not the one that was audited; "
                "audit the file as it is now, and name its column of labels."
            )
        common = found.sort_values("size", ascending=False, kind="stable").drop_duplicates("label")
        rows = np.full(len(self.classes), -1, np.int64)
        there = common[common["label"] >= 0]
        rows[there["label"].to_numpy()] = there["first"].to_numpy()
        own = np.arange(len(codes))
        picked = np.where(self.changed, rows[self.wanted], own)
        if (picked < 0).any():
            name = self.classes[self.wanted[int(np.argmin(picked))]]
            raise InputError(
                f"{source}: no row has label '{name}', so its spelling there is unknown; use --fix drop."
            )
        return picked

"""The most suspicious examples of each class: largest gap first."""

from dataclasses import dataclass

import pandas as pd

from noiselimit.reproduce.figures.kept import Kept
from noiselimit.reproduce.rows import ResultRow
from noiselimit.runs import Run

KIND = "suspects"


@dataclass(frozen=True)
class Suspect:
    """One example whose label looks wrong."""

    index: int
    """Its place in the data."""
    given: int
    suggested: int
    gap: float


def find_suspects(outputs: pd.DataFrame, each: int) -> list[Suspect]:
    """`each` of every given class among training and validation examples, classes in order."""
    known = outputs[outputs["part"] != "test"].sort_values(
        ["given_label", "gap", "index"], ascending=[True, False, True]
    )
    first = known.groupby("given_label", sort=False).head(each)
    return [
        Suspect(int(index), int(given), int(suggested), float(gap))
        for index, given, suggested, gap in zip(
            first["index"], first["given_label"], first["suggested_label"], first["gap"], strict=True
        )
    ]


def keep_suspects(row: ResultRow, run: Run, each: int) -> Kept:
    """As text, 'index:given:suggested:gap' of each."""
    found = find_suspects(run.outputs, each)
    return Kept(row, " ".join(f"{s.index}:{s.given}:{s.suggested}:{s.gap:.4f}" for s in found))


def read_suspects(kept: Kept) -> list[Suspect]:
    """The inverse, up to rounding."""
    parts = (part.split(":") for part in kept.values.split())
    return [Suspect(int(i), int(given), int(said), float(gap)) for i, given, said, gap in parts]

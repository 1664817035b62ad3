"""The numbers that the paper prints, as records."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class PaperFigure:
    """One number of the paper's tables."""

    table: str
    """Its label in the paper."""
    data: str
    noise: str
    p: float | None
    n: int | None
    method: str
    accuracy: float
    """Test accuracy in per cent."""
    std: float
    """As printed: over five splits for MNIST, else by bootstrap of the test set."""

    @property
    def text(self) -> str:
        """'97.7 ± 0.2'."""
        return f"{self.accuracy:.1f} ± {self.std:.1f}"


LABELS = {
    "ce": "CE",
    "ce-gn": "CE + GN",
    "ce-ln": "CE + LN",
    "mae": "MAE",
    "fw": "FW",
    "dmi": "DMI",
    "soft-penalty": "soft penalty",
    "limit-g+s": "LIMIT-G + S",
    "limit-l+s": "LIMIT-L + S",
    "limit-g": "LIMIT-G − S",
    "limit-l": "LIMIT-L − S",
    "limit-g+init": "LIMIT-G + init",
    "limit-l+init": "LIMIT-L + init",
}
"""The methods as the paper's tables call them, in their order."""


@cache
def paper_cells() -> tuple[PaperFigure, ...]:
    """All 228 of them, in the paper's order."""
    text = files("noiselimit.reproduce").joinpath("paper_tables.csv").read_text("utf-8")
    return tuple(
        PaperFigure(
            table=row["table"],
            data=row["dataset"],
            noise=row["noise"],
            p=float(row["p"]) if row["p"] else None,
            n=int(row["n"]) if row["n"] else None,
            method=row["method"],
            accuracy=float(row["accuracy"]),
            std=float(row["std"]),
        )
        for row in csv.DictReader(text.splitlines())
    )


def paper_figure(data: str, noise: str, p: float | None, n: int | None, method: str) -> PaperFigure | None:
    """What the paper says of a cell, or None where it says nothing."""
    return _by_place().get((data, noise, p, n, method))


@cache
def _by_place() -> dict[tuple[str, str, float | None, int | None, str], PaperFigure]:
    return {(each.data, each.noise, each.p, each.n, each.method): each for each in paper_cells()}

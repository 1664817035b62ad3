"""What runs leave for figures: beside a run's row, one text of numbers. Small files that are committed."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from noiselimit.files import atomic_file
from noiselimit.locks import file_lock
from noiselimit.opening import read_bytes
from noiselimit.reproduce.rows import COLUMNS, HEADER, ResultRow, RowKey, line_of, row_of

FOLDER = "figures"
"""Below the folder of results."""
_HEADER = f"{HEADER},values"


@dataclass(frozen=True)
class Kept:
    """One run and what is drawn of it."""

    row: ResultRow
    values: str
    """Numbers and names in whatever form the kind of figure has, on one line and without commas."""


def kept_file(out: Path, kind: str) -> Path:
    """Where everything of a kind (curves, histograms, suspects) is kept."""
    return out / FOLDER / f"{kind}.csv"


def read_kept(path: Path) -> list[Kept]:
    """What the file has, one of each run; lines that are none of ours (a torn one) are passed over."""
    if not path.exists():
        return []
    found = []
    for values in csv.reader(read_bytes(path).decode("utf-8", errors="replace").splitlines()):
        try:
            found.append(Kept(row_of(values[: len(COLUMNS)]), *values[len(COLUMNS) :]))
        except (ValueError, TypeError):
            continue
    return _current(found)


def keep(path: Path, more: Sequence[Kept]) -> None:
    """Add to the file; a run that is there is replaced unless it was allowed more epochs."""
    with file_lock(path):
        found = _current([*read_kept(path), *more])
        lines = [_HEADER, *(f"{line_of(kept.row)},{kept.values}" for kept in found)]
        with atomic_file(path) as temporary:
            temporary.write_text("\n".join(lines) + "\n", "utf-8")


def best(kept: Iterable[Kept]) -> Kept | None:
    """The run with the highest noisy-validation accuracy, of equals that with the lower loss."""

    def merit(one: Kept) -> tuple[float, float]:
        return one.row.validation_accuracy or 0.0, -(one.row.validation_loss or 0.0)

    return max((one for one in kept if not one.row.failure), key=merit, default=None)


def _current(kept: Iterable[Kept]) -> list[Kept]:
    found: dict[RowKey, Kept] = {}
    for one in kept:
        other = found.get(one.row.key)
        if other is None or (one.row.epochs, one.row.date) >= (other.row.epochs, other.row.date):
            found[one.row.key] = one
    return list(found.values())

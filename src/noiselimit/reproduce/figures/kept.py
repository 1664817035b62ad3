"""What runs leave for figures: beside a run's row, one text of numbers. Small files that are committed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from noiselimit.errors import InputError
from noiselimit.files import atomic_file
from noiselimit.locks import file_lock
from noiselimit.reproduce.figures.values import FORMS, check_values
from noiselimit.reproduce.rows import COLUMNS, HEADER, ResultRow, RowKey, current, line_of, split_line
from noiselimit.reproduce.rows_file import read_lines, sound_row

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
    """What the file has, of each run and limit of epochs one; none where there is no file.

    Runs that were allowed fewer epochs stay, as their rows do; figures show `current_kept`.

    All must be sound, for the file is written anew with each run: what is no run would be lost. No crash
    leaves part of a line in it either.
    """
    if not path.exists():
        return []
    return _each_once(read_lines(path, _HEADER, lambda line: _kept_of(line, path.stem), is_appended_to=False))


def read_arriving(path: Path) -> list[Kept]:
    """All lines of a file made elsewhere, which stays as it is: copying may have ended in its last one."""
    if path.stem not in FORMS:
        kinds = ", ".join(f"{kind}.csv" for kind in FORMS)
        raise InputError(f"{path} is nothing that figures are drawn from: there are {kinds}.")
    return read_lines(path, _HEADER, lambda line: _kept_of(line, path.stem))


def _kept_of(line: str, kind: str) -> Kept:
    values = split_line(line)
    row = sound_row(values[: len(COLUMNS)])
    if len(values) != len(COLUMNS) + 1:
        raise ValueError("another number of columns")
    check_values(kind, values[-1])
    return Kept(row, values[-1])


def keep(path: Path, more: Sequence[Kept]) -> None:
    """Add to the file; a run that is there with as many epochs allowed stays as it is."""
    with file_lock(path):
        found = _each_once([*read_kept(path), *more])
        lines = [_HEADER, *(f"{line_of(kept.row)},{kept.values}" for kept in found)]
        with atomic_file(path) as temporary:
            temporary.write_text("\n".join(lines) + "\n", "utf-8")


def best(kept: Iterable[Kept]) -> Kept | None:
    """The run with the highest noisy-validation accuracy, of equals that with the lower loss."""

    def merit(one: Kept) -> tuple[float, float]:
        return one.row.validation_accuracy or 0.0, -(one.row.validation_loss or 0.0)

    return max((one for one in kept if not one.row.failure), key=merit, default=None)


def current_kept(kept: Iterable[Kept]) -> list[Kept]:
    """Of each run the one that was allowed the most epochs, as with rows."""
    return current(kept, lambda one: one.row)


def _each_once(kept: Iterable[Kept]) -> list[Kept]:
    found: dict[tuple[RowKey, int], Kept] = {}
    for one in kept:
        found.setdefault((one.row.key, one.row.epochs), one)
    return list(found.values())

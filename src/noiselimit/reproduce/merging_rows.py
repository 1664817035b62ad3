"""Rows made elsewhere, added to those here: of each run one, and what contradicts it is told of."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from noiselimit.errors import Notice
from noiselimit.locks import file_lock
from noiselimit.reproduce.rows import ResultRow, RowKey
from noiselimit.reproduce.rows_file import append_rows, read_rows, rows_path

Run = tuple[RowKey, int]
"""Key and the limit of epochs."""


@dataclass(frozen=True)
class Arriving:
    """A row and where it was found."""

    row: ResultRow
    file: Path
    line: int

    @property
    def run(self) -> Run:
        """Rows of equal runs say the same, or contradict each other."""
        return self.row.key, self.row.epochs


def merge_rows(files: Mapping[Path, Sequence[ResultRow]], folder: Path) -> dict[str, int]:
    """Add rows, by the file that has them, of runs that the folder has not; data set → how many were added.

    A run that is there with another outcome stays as it is: figures are of that one. Of rows that contradict
    each other the first is added, which is also the one that counts in a file with both.
    """
    arriving: dict[str, list[Arriving]] = {}
    for one in _located(files):
        arriving.setdefault(one.row.data, []).append(one)
    for data in arriving:
        read_rows(rows_path(folder, data))  # what is wrong here is said before anything is written
    return {data: _merge(own, rows_path(folder, data)) for data, own in arriving.items()}


def _located(files: Mapping[Path, Sequence[ResultRow]]) -> Iterator[Arriving]:
    for file, rows in files.items():
        for line, row in enumerate(rows, start=2):  # the first line is the header
            yield Arriving(row, file, line)


def _merge(arriving: Sequence[Arriving], target: Path) -> int:
    with file_lock(target):
        known = {(row.key, row.epochs): row for row in reversed(read_rows(target))}
        new: dict[Run, Arriving] = {}
        for one in arriving:
            if one.run not in known:
                new.setdefault(one.run, one)
        append_rows(target, [one.row for one in new.values()])
    others = {one.run for one in arriving if one.run in known and one.row != known[one.run]}
    if others:
        words = f"{target} has {len(others)} of these runs with another outcome, and keeps its own."
        warnings.warn(words, Notice, stacklevel=4)
    against = [(new[one.run], one) for one in arriving if one.run in new and one.row != new[one.run].row]
    if against:
        warnings.warn(_contradiction(against), Notice, stacklevel=4)
    return len(new)


def _contradiction(pairs: Sequence[tuple[Arriving, Arriving]]) -> str:
    """Of rows that were added, each with one that says something else of its run: the first pair is named."""
    (first, other), *more = pairs
    where = f"line {first.line}" + (f" of {first.file}" if first.file != other.file else "")
    rows = "1 more row was" if len(more) == 1 else f"{len(more)} more rows were"
    likewise = f"; {rows} left out likewise" if more else ""
    return (
        f"{other.file} has in line {other.line} another outcome of the run in {where}, "
        f"and the latter was added{likewise}."
    )

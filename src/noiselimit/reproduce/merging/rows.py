"""Rows made elsewhere, added to those of the tables here."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from noiselimit.locks import file_lock
from noiselimit.reproduce.merging.arriving import Arriving, located, newcomers, run_of, tell_of_strangers
from noiselimit.reproduce.protocol import protocol_for
from noiselimit.reproduce.rows import ResultRow, RowKey
from noiselimit.reproduce.rows_file import append_rows, read_rows, rows_path
from noiselimit.reproduce.studies import STUDIES
from noiselimit.reproduce.work import all_tasks


def merge_rows(files: Mapping[Path, Sequence[ResultRow]], folder: Path) -> dict[str, int]:
    """Add rows, by the file that has them, of runs that the folder has not; data set → how many were added.

    A run that is there with another outcome stays as it is: figures are of that one. Of rows that contradict
    each other the first is added, which is also the one that counts in a file with both.
    """
    arriving: dict[str, list[Arriving[ResultRow]]] = {}
    for file, rows in files.items():
        for one in located(file, rows, lambda row: row):
            arriving.setdefault(one.row.data, []).append(one)
    for data in arriving:
        read_rows(rows_path(folder, data))  # what is wrong here is said before anything is written
    return {data: _merge(own, rows_path(folder, data)) for data, own in arriving.items()}


def is_compared(row: ResultRow) -> bool:
    """Whether a table compares runs like this one: by its protocol, with a value of the method's grid."""
    return replace(row, seed=0).key in _compared(row.data, row.quick)


@cache
def _compared(data: str, quick: bool) -> frozenset[RowKey]:
    protocol = protocol_for(data, quick=quick)
    return frozenset(task.key(protocol) for task in all_tasks(STUDIES[data].cells, [0], protocol))


def _merge(arriving: Sequence[Arriving[ResultRow]], target: Path) -> int:
    with file_lock(target):
        known = {run_of(row): row for row in reversed(read_rows(target))}
        new = newcomers(arriving, known, target)
        append_rows(target, [one.row for one in new])
    tell_of_strangers(new, target, is_compared, "no table compares")
    return len(new)

"""Quick trials, which count for nothing, and whole runs are not merged into one folder."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from noiselimit.errors import InputError, Notice
from noiselimit.reproduce.figures.kept import kept_file, read_kept
from noiselimit.reproduce.figures.values import FORMS
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.rows_file import read_rows, rows_path
from noiselimit.reproduce.studies import STUDIES


def require_apart(arriving: Mapping[Path, Sequence[ResultRow]], out: Path) -> None:
    """Refuse what would mix them; that a new folder gets quick trials is told.

    To a folder that has both already whole runs may still be added.
    """
    new, here = _first_files(arriving), _first_files(_rows_here(out))
    both = here | new
    if len(both) == 2 and (True in new or False not in here):
        raise InputError(
            f"{both[True]} has quick trials, which count for nothing, and {both[False]} has whole runs: "
            "merge them into folders of their own by --out."
        )
    if True in new and not here:
        words = (
            f"{new[True]} has quick trials, which count for nothing: for the paper's tables merge whole runs."
        )
        warnings.warn(words, Notice, stacklevel=3)


def _first_files(rows: Mapping[Path, Sequence[ResultRow]]) -> dict[bool, Path]:
    """Whether quick → the first file with such rows."""
    found: dict[bool, Path] = {}
    for file, own in rows.items():
        for row in own:
            found.setdefault(row.quick, file)
    return found


def _rows_here(out: Path) -> dict[Path, list[ResultRow]]:
    tables = {path: read_rows(path) for path in (rows_path(out, data) for data in STUDIES)}
    kept = {path: [one.row for one in read_kept(path)] for path in (kept_file(out, kind) for kind in FORMS)}
    return tables | kept

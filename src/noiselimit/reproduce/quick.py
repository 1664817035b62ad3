"""Quick trials, which count for nothing, and whole runs are in folders of their own."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from noiselimit.errors import InputError, Notice
from noiselimit.reproduce.figures.kept import kept_file, read_kept
from noiselimit.reproduce.figures.values import FORMS
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.rows_file import read_rows, rows_path
from noiselimit.reproduce.studies import STUDIES

RowsByFile = Mapping[Path, Sequence[ResultRow]]


def require_kind(out: Path, *, quick: bool) -> None:
    """Refuse a folder of the other kind, or with a damaged file: said before anything is trained."""
    rows = rows_within(out)
    require_unmixed(rows, more=quick)
    here = first_files(rows)
    if quick and False in here:
        raise InputError(
            f"{out} has whole runs ({here[False].name}), and quick trials count for nothing: give these a "
            "folder of their own by --out, or leave --quick out."
        )
    if not quick and True in here and False not in here:
        raise InputError(
            f"{out} has quick trials ({here[True].name}), which count for nothing: give whole runs a folder "
            "of their own by --out, or add --quick."
        )


def require_unmixed(rows: RowsByFile, *, more: bool) -> None:
    """Say what to delete in a folder that has both kinds; refuse it where `more` quick trials would come.

    Whole runs may still be added: tables tell them apart.
    """
    words = mixture_words(rows)
    if words and more:
        raise InputError(f"{words}, and new quick trials need a folder of their own by --out.")
    if words:
        warnings.warn(f"{words}.", Notice, stacklevel=4)


def mixture_words(rows: RowsByFile) -> str:
    """Which file has quick trials beside whole runs, and how to part them; empty where none are mixed."""
    found = first_files(rows)
    if len(found) < 2:
        return ""
    both = [file for file, own in rows.items() if len({row.quick for row in own}) == 2]
    file, beside = (both[0], "") if both else (found[True], f" in {found[False].name}")
    return (
        f"{file} has quick trials, which count for nothing, beside whole runs{beside}: its lines whose "
        "column quick is yes may be deleted"
    )


def first_files(rows: RowsByFile) -> dict[bool, Path]:
    """Whether quick → the first file with such rows."""
    found: dict[bool, Path] = {}
    for file, own in rows.items():
        for row in own:
            found.setdefault(row.quick, file)
    return found


def rows_within(out: Path) -> dict[Path, list[ResultRow]]:
    """All rows in a folder of results, those of figures too."""
    tables = {path: read_rows(path) for path in (rows_path(out, data) for data in STUDIES)}
    kept = {path: [one.row for one in read_kept(path)] for path in (kept_file(out, kind) for kind in FORMS)}
    return tables | kept

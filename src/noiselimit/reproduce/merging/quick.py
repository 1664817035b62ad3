"""Quick trials, which count for nothing, and whole runs are not merged into one folder."""

import warnings
from pathlib import Path

from noiselimit.errors import InputError, Notice
from noiselimit.reproduce.quick import RowsByFile, first_files, mixture_words, require_unmixed, rows_within


def require_apart(arriving: RowsByFile, out: Path) -> None:
    """Refuse what would mix them; that a new folder gets quick trials is told.

    A file that has both cannot be merged into folders of their own: it is told how to part them.
    """
    for file, rows in arriving.items():
        if words := mixture_words({file: rows}):
            raise InputError(f"{words}.")
    rows_here = rows_within(out)
    new, here = first_files(arriving), first_files(rows_here)
    require_unmixed(rows_here, more=True in new)
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

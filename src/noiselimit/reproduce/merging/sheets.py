"""Sheets of pictures made elsewhere: a figure's sheets are of the run that its caption names."""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from noiselimit.errors import Notice
from noiselimit.files import atomic_file
from noiselimit.locks import file_lock
from noiselimit.opening import read_bytes
from noiselimit.reproduce.figures.drawing import picture_name, sheet_files
from noiselimit.reproduce.figures.figure import Figure
from noiselimit.reproduce.figures.kept import FOLDER, Kept, best, kept_file, read_kept
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.figures.suspects import KIND
from noiselimit.reproduce.merging.arriving import Arriving
from noiselimit.reproduce.merging.kept import add_kept
from noiselimit.reproduce.rows import ResultRow


def merge_sheets(arriving: Sequence[Arriving[Kept]], place: Path, out: Path) -> dict[str, int]:
    """Add the suspects, read from results in `place`, to those in `out`; name of a file → what it gained.

    Sheets are copied where the best of all runs is the best of those that arrive. Where it would be one that
    no sheets are of, a figure's runs stay where they are: its picture is still of the run named below it.
    """
    target = kept_file(out, KIND)
    runs = [one.item for one in arriving]
    with file_lock(target):
        here = read_kept(target)
        taken: list[Kept] = []
        copied: dict[str, int] = {}
        for figure, quick in _pictures(runs):
            name, own = picture_name(figure, quick=quick), _best_row(figure.shown(runs, quick=quick))
            sheets = sheet_files(name, place)
            best_row = _best_row(figure.shown([*here, *runs], quick=quick))
            if sheets and best_row == own:
                copied |= _copy(sheets, name, out)
            elif best_row != _best_row(figure.shown(here, quick=quick)):
                words = f"{place} has the best run of {name} but not its pictures, so its runs stay there."
                warnings.warn(words, Notice, stacklevel=2)
                continue
            taken += figure.own(runs, quick=quick)
        added = add_kept([one for one in arriving if one.item in taken], target)
    return {f"{FOLDER}/{target.name}": len(added), **copied}


def _pictures(runs: Sequence[Kept]) -> Iterator[tuple[Figure, bool]]:
    """Figures that runs arrive for, and whether these are quick trials."""
    for figure in FIGURES.values():
        for quick in (False, True):
            if figure.kind == KIND and figure.own(runs, quick=quick):
                yield figure, quick


def _best_row(kept: Sequence[Kept]) -> ResultRow | None:
    found = best(kept)
    return None if found is None else found.row


def _copy(sheets: Sequence[Path], name: str, out: Path) -> dict[str, int]:
    """In the place of those that are there, unless they are the same."""
    old = sheet_files(name, out)
    if [(path.name, read_bytes(path)) for path in old] == [(path.name, read_bytes(path)) for path in sheets]:
        return {}
    for path in old:
        path.unlink()
    for path in sheets:
        with atomic_file(out / FOLDER / path.name) as temporary:
            temporary.write_bytes(read_bytes(path))
    return {f"{FOLDER}/{path.name}": 1 for path in sheets}

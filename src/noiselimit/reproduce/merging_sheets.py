"""Sheets of pictures made elsewhere: a figure's sheets are of the run that its caption names."""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from noiselimit.errors import Notice
from noiselimit.files import atomic_file
from noiselimit.locks import file_lock
from noiselimit.opening import read_bytes
from noiselimit.reproduce.figures.drawing import picture_name, sheet_files
from noiselimit.reproduce.figures.kept import FOLDER, Kept, best, current_kept, keep, kept_file, read_kept
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.figures.suspects import KIND
from noiselimit.reproduce.rows import ResultRow


def merge_sheets(arriving: Sequence[Kept], place: Path, out: Path) -> dict[str, int]:
    """Add the suspects, read from results in `place`, to those in `out`; name of a file → what it gained.

    Sheets are copied where the best of all runs is the best of those that arrive. Where it would be one that
    no sheets are of, a figure's runs stay where they are: its picture is still of the run named below it.
    """
    target = kept_file(out, KIND)
    with file_lock(target):
        here = read_kept(target)
        taken: list[Kept] = []
        copied: dict[str, int] = {}
        for name, own, known in _by_picture(arriving, here):
            sheets = sheet_files(name, place)
            best_row = _best_row(current_kept([*known, *own]))
            if sheets and best_row == _best_row(own):
                copied |= _copy(sheets, name, out)
            elif best_row != _best_row(known):
                words = f"{place} has the best run of {name} but not its pictures, so its runs stay there."
                warnings.warn(words, Notice, stacklevel=2)
                continue
            taken += own
        keep(target, taken)
    before = {(one.row.key, one.row.epochs) for one in here}
    added = sum((one.row.key, one.row.epochs) not in before for one in taken)
    return {f"{FOLDER}/{target.name}": added, **copied}


def _by_picture(
    arriving: Sequence[Kept], here: Sequence[Kept]
) -> Iterator[tuple[str, list[Kept], list[Kept]]]:
    """Name of a picture that runs arrive for, these runs, and those that are here."""
    for figure in FIGURES.values():
        for quick in (False, True):
            if figure.kind == KIND and (own := figure.shown(arriving, quick=quick)):
                yield picture_name(figure, quick=quick), own, figure.shown(here, quick=quick)


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

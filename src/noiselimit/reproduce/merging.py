"""Results that were made elsewhere, added to those here: rows, what figures are drawn from, sheets."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from noiselimit.errors import InputError
from noiselimit.files import atomic_file
from noiselimit.reproduce.figures.kept import FOLDER, keep, kept_file, read_kept
from noiselimit.reproduce.rows_file import is_rows_file, merge_rows, read_rows


def merge_results(places: Sequence[Path], out: Path) -> dict[str, int]:
    """Add files of results, or folders of them, to the folder `out`; name of a file → what it gained.

    Rows that are there are not added again, a figure's run is replaced unless it was allowed more epochs, and
    sheets of pictures, which only folders bring, are replaced.
    """
    files = [file for place in places for file in _files(place)]
    pictures = [file for file in files if file.suffix == ".png"]
    tables = [file for file in files if file.suffix != ".png"]
    of_figures = [file for file in tables if file.parent.name == FOLDER and not is_rows_file(file)]
    rows = [row for file in tables if file not in of_figures for row in read_rows(file)]
    kept = {file: read_kept(file) for file in of_figures}  # all of it before the first is written
    gained = {f"{data}.csv": count for data, count in merge_rows(rows, out).items()}
    for file, runs in kept.items():
        target = kept_file(out, file.stem)
        before = {(one.row.key, one.row.epochs) for one in read_kept(target)}
        keep(target, runs)
        gained[f"{FOLDER}/{target.name}"] = sum((one.row.key, one.row.epochs) not in before for one in runs)
    for file in pictures:
        target = out / FOLDER / file.name
        if target.exists() and target.read_bytes() == file.read_bytes():
            continue
        with atomic_file(target) as temporary:
            shutil.copyfile(file, temporary)
        gained[f"{FOLDER}/{target.name}"] = 1
    return gained


def _files(place: Path) -> list[Path]:
    if place.is_dir():
        own = [path for path in sorted(place.glob("*.csv")) if is_rows_file(path)]
        return [*own, *sorted((place / FOLDER).glob("*.csv")), *sorted((place / FOLDER).glob("*.png"))]
    if not place.is_file():
        raise InputError(f"there is no file or folder {place}: name results made elsewhere.")
    return [place]

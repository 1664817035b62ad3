"""Adding results that were made elsewhere to those that are here."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from noiselimit.errors import InputError
from paper.drawing import PARSERS
from paper.figures import FIGURES, kept_path, read_kept
from paper.protocol import PROTOCOLS
from paper.rows import RUN, append_rows, best, read_rows, rows_path


def merge(places: Sequence[Path], out: Path) -> dict[str, int]:
    """Append the rows of folders or files of results to those in `out`; returns file name → rows added.

    Of equal runs (setting, seed and limit of epochs) the first stays. Everything is read and checked before
    anything is written. Sheets of pictures come with the best run that they show.
    """
    arriving: dict[Path, list[pd.DataFrame]] = {}
    for file in [file for place in places for file in _files(place)]:
        is_kept = file.parent.name == "figures" and file.stem in PARSERS
        if not is_kept and file.stem not in PROTOCOLS:
            names = ", ".join(f"{name}.csv" for name in PROTOCOLS)
            raise InputError(f"{file} is no file of results: name {names}, or a folder of these.")
        rows = read_kept(file.parents[1], file.stem) if is_kept else read_rows(file)
        target = kept_path(out, file.stem) if is_kept else rows_path(out, file.stem)
        arriving.setdefault(target, []).append(rows)
    new = {target: _new_rows(target, frames) for target, frames in arriving.items()}
    for target, rows in new.items():
        if len(rows):
            append_rows(target, rows)
    for place in places:
        _copy_sheets(place, out)
    return {str(target.relative_to(out)): len(rows) for target, rows in new.items()}


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    known = [rows_path(place, data) for data in PROTOCOLS] + [kept_path(place, kind) for kind in PARSERS]
    found = [path for path in known if path.is_file()]
    if not found:
        raise InputError(f"{place} has no results, such as mnist.csv: name a file or folder of results.")
    return found


def _new_rows(target: Path, frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The arriving rows, each once, of runs that the target does not have."""
    old = read_rows(target, values="values" in frames[0].columns)
    everything = pd.concat([old, *frames])
    if everything["quick"].nunique() > 1:
        raise InputError(f"{target} would mix quick and full runs: merge into another folder by --out.")
    return everything[~everything.duplicated(RUN)].iloc[len(old.drop_duplicates(RUN)) :]


def _copy_sheets(place: Path, out: Path) -> None:
    """Copy the sheets of every figure whose best run, of all that are here now, is the best of `place`."""
    if not kept_path(place, "suspects").is_file():
        return
    there, here = read_kept(place, "suspects"), read_kept(out, "suspects")
    for figure in FIGURES.values():
        for quick in (False, True) if figure.kind == "suspects" else ():
            own = best(figure.select(there, quick=quick))
            if (
                len(own)
                and own[RUN].values.tolist() == best(figure.select(here, quick=quick))[RUN].values.tolist()
            ):
                for path in (place / "figures").glob(f"{figure.file_name(quick=quick)}-[0-9].png"):
                    shutil.copyfile(path, out / "figures" / path.name)

"""All that results consist of: rows, what figures are drawn from, sheets."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from noiselimit.errors import InputError
from noiselimit.reproduce.figures.kept import FOLDER, kept_file, read_arriving, read_kept
from noiselimit.reproduce.figures.suspects import KIND as SUSPECTS
from noiselimit.reproduce.merging.arriving import located
from noiselimit.reproduce.merging.kept import merge_kept
from noiselimit.reproduce.merging.quick import require_apart
from noiselimit.reproduce.merging.rows import merge_rows
from noiselimit.reproduce.merging.sheets import merge_sheets
from noiselimit.reproduce.rows_file import is_rows_file, read_rows


def merge_results(places: Sequence[Path], out: Path) -> dict[str, int]:
    """Add files of results, or folders of them, to the folder `out`; name of a file → what it gained.

    What is there stays as it is, rows as well as what figures show of their runs; more epochs count instead.
    """
    files = [file for place in places for file in _files(place)]
    of_figures = [file for file in files if file.parent.name == FOLDER and not is_rows_file(file)]
    # All of it, here and elsewhere, before the first is written.
    rows = {file: read_rows(file) for file in files if file not in of_figures}
    kept = {file: read_arriving(file) for file in of_figures}
    for file in kept:
        read_kept(kept_file(out, file.stem))
    require_apart(rows | {file: [one.row for one in runs] for file, runs in kept.items()}, out)
    gained = Counter({f"{data}.csv": count for data, count in merge_rows(rows, out).items()})
    gained.update(merge_kept({file: runs for file, runs in kept.items() if file.stem != SUSPECTS}, out))
    for file, runs in kept.items():
        if file.stem == SUSPECTS:
            gained.update(merge_sheets(located(file, runs, lambda one: one.row), file.parent.parent, out))
    return dict(gained)


def _files(place: Path) -> list[Path]:
    if place.is_dir():
        within = (path for folder in (place, place / FOLDER) for path in sorted(folder.glob("*.csv")))
        files = [path for path in within if not path.name.startswith(".")]  # copying leaves such beside
        if not files:
            raise InputError(
                f"{place} has no file of results, such as mnist.csv or {FOLDER}/curves.csv: name a folder "
                "that 'noiselimit reproduce' wrote to."
            )
        return files
    if not place.is_file():
        raise InputError(f"there is no file or folder {place}: name results made elsewhere.")
    return [place]

"""From what a user types, the name of a data set or a path, to the data."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noiselimit.data.catalogue import DATA_SETS, FILE_FORMATS, FOLDER_FORMATS, Stored
from noiselimit.data.download import Progress
from noiselimit.data.examples import DataSet
from noiselimit.data.lazy import Inputs
from noiselimit.data.reading import Reading
from noiselimit.data.table import Table
from noiselimit.errors import InputError, unknown

VARIABLE = "NOISELIMIT_DATA"


def load_data(
    name_or_path: str | Path,
    data_dir: str | Path | None = None,
    download: bool = False,
    progress: Progress | None = None,
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> DataSet:
    """A data set by name, or from a path: a folder or a file in one of the formats of the catalogue.

    Stored data sets are looked for in `data_dir`, else in the folder that NOISELIMIT_DATA names.
    """
    text = os.fspath(name_or_path)
    entry = DATA_SETS.get(text)
    if isinstance(entry, Stored):
        return entry.read(_find_folder(text, entry, data_dir, download, progress), reading)
    if entry is not None:
        return entry()
    path = _existing_path(text)
    if path.is_file():
        return FILE_FORMATS[path.suffix].read(path, reading)
    found = next((folder for folder in FOLDER_FORMATS if folder.is_in(path)), FOLDER_FORMATS[-1])
    return found.read(path, reading)  # the last format, the most general, says what it misses


@dataclass(frozen=True, eq=False)
class Unlabelled:
    """Inputs to predict for."""

    inputs: Inputs
    names: Sequence[str] | None = None
    """[n] what each is called where it came from: once bad pictures are skipped, numbers no longer tell."""
    notes: tuple[str, ...] = ()
    """What reading has to tell."""


def load_inputs(name_or_path: str | Path, data_dir: str | Path | None = None, **options: Any) -> Inputs:
    """The inputs [n, …] of `load_unlabelled`, which has the options."""
    return load_unlabelled(name_or_path, data_dir, **options).inputs


def load_unlabelled(
    name_or_path: str | Path,
    data_dir: str | Path | None = None,
    download: bool = False,
    progress: Progress | None = None,
    *,
    test: bool = False,
    table: Table | None = None,
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> Unlabelled:
    """The inputs to predict for: those that `load_data` would train on, or the test part.

    Labels are neither needed nor read from a file, so one with inputs alone will do. `table` is how the run
    that is to predict encoded its table, if it had one.
    """
    text = os.fspath(name_or_path)
    if text not in DATA_SETS and (path := _existing_path(text)).is_file():
        return Unlabelled(FILE_FORMATS[path.suffix].read_inputs(path, test, table))
    data = load_data(text, data_dir, download, progress, reading)
    part = data.test if test else data.examples
    if part is None:
        raise InputError(f"{text}: there is no test part; leave out --test.")
    return Unlabelled(part.inputs, part.names, data.notes)


def _existing_path(text: str) -> Path:
    """The folder or file of that name, if its kind can be read."""
    path = Path(text)
    if not text:  # which Path would take for the current folder
        raise unknown("data set", text, DATA_SETS)
    if path.is_dir() or (path.is_file() and path.suffix in FILE_FORMATS):
        return path
    if path.exists():
        raise InputError(
            f"{text}: data must be a folder or a file ending in {', '.join(FILE_FORMATS)}; convert this file."
        )
    if path.suffix or len(path.parts) > 1:
        raise InputError(f"{text}: there is no such file or folder; check the path.")
    raise unknown("data set", text, DATA_SETS)


def _find_folder(
    name: str, entry: Stored, data_dir: str | Path | None, download: bool, progress: Progress | None
) -> Path:
    """The folder that has the files: NAME below the data folder, or the data folder itself."""
    parent = data_dir or os.environ.get(VARIABLE)
    if not parent:
        fetched = ", and add --download to fetch the files" if entry.download else ""
        raise InputError(f"{name}: no data folder is named; set --data-dir or {VARIABLE}{fetched}.")
    folders = (Path(parent) / name, Path(parent))
    folder = next((folder for folder in folders if entry.is_in(folder)), None)
    if download:
        if entry.download is None:
            raise InputError(
                f"{name}: its authors hand the files out themselves; ask them, leave out --download and "
                f"name the folder with --data-dir or {VARIABLE}."
            )
        entry.download(folder or folders[0], progress)
        return folder or folders[0]
    if folder is None:
        raise InputError(
            f"{name}: its files are neither in {folders[0]} nor in {parent}; "
            f"name their folder with --data-dir or {VARIABLE}, or "
            f"{'add --download to fetch them' if entry.download else 'ask their authors for them'}."
        )
    return folder

"""From what a user types, the name of a data set or a path, to the data."""

import os
from pathlib import Path

from noiselimit.data.catalogue import (
    DATA_SETS,
    FILE_FORMATS,
    FOLDER_FORMATS,
    FileFormat,
    FolderFormat,
    Stored,
)
from noiselimit.data.download import Progress
from noiselimit.data.examples import DataSet
from noiselimit.data.reading import Reading
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
        reading.require_only(entry.takes, text)
        return entry.read(_find_folder(text, entry, data_dir, download, progress), reading)
    path = existing_path(text) if entry is None else None
    if download:
        raise nothing_to_download(text)
    if entry is not None:
        reading.require_only((), text)
        return entry()
    assert path is not None
    found = format_of(path)
    reading.require_only(found.takes, text)
    return found.read(path, reading)


def nothing_to_download(source: str) -> InputError:
    """The error for --download where files are the user's own, or come with the package."""
    return InputError(f"{source}: nothing is downloaded for these data; leave out --download.")


def format_of(path: Path) -> FileFormat | FolderFormat:
    """How the file or folder, which is there, is read."""
    if path.is_file():
        return FILE_FORMATS[path.suffix.lower()]
    # Of folders the last format, the most general, says what it misses.
    return next((folder for folder in FOLDER_FORMATS if folder.is_in(path)), FOLDER_FORMATS[-1])


def existing_path(text: str) -> Path:
    """The folder or file of that name, if its kind can be read."""
    path = Path(text)
    if not text:  # which Path would take for the current folder
        raise unknown("data set", text, DATA_SETS)
    if path.is_dir() or (path.is_file() and path.suffix.lower() in FILE_FORMATS):
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

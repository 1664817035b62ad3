"""All sources of data: data sets by name, folders, files, arrays and torch Datasets.

To add a data set or a format, write its reader in a file of this folder and add a line to a table below.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from noiselimit.data.arrays import Inputs
from noiselimit.data.cifar import (
    CIFAR10,
    CIFAR100,
    download_cifar,
    download_cifar10n,
    find_cifar,
    holds_cifar10n,
    read_cifar,
    read_cifar10n,
)
from noiselimit.data.clothing1m import clothing1m, holds_clothing1m
from noiselimit.data.download import Progress
from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.data.image_folder import ENDINGS, has_class_folders, read_image_folder, read_new_pictures
from noiselimit.data.memory import from_memory
from noiselimit.data.mnist import digits, download_mnist, holds_idx, read_idx_folder
from noiselimit.data.npz import read_npz, read_npz_inputs
from noiselimit.data.reading import PICTURES, TABLES, Reading
from noiselimit.data.table_file import (
    frame_data_set,
    is_table,
    read_new_list,
    read_table_file,
    read_table_inputs,
)
from noiselimit.data.tables import Table
from noiselimit.errors import InputError, unknown

VARIABLE = "NOISELIMIT_DATA"


@dataclass(frozen=True)
class Folder:
    """A data set, or a format, whose files are in a folder."""

    is_in: Callable[[Path], bool]
    read: Callable[[Path, Reading], DataSet]
    takes: frozenset[str] = frozenset()
    """Fields of a Reading that it uses; others are refused."""
    download: Callable[[Path, Progress | None], None] | None = None
    """None if the data cannot be downloaded."""


@dataclass(frozen=True)
class File:
    """A format of single files."""

    read: Callable[[Path, Reading], DataSet]
    read_inputs: Callable[[Path, bool, Table | None], tuple[Inputs, dict[str, npt.NDArray[Any]]]]
    """(path, whether to read the test part, the run's table) → (inputs, kept columns); labels not needed."""
    takes: frozenset[str] = frozenset()


DATA_SETS: dict[str, Callable[[], DataSet] | Folder] = {
    "digits": digits,
    "mnist": Folder(
        holds_idx,
        lambda folder, reading: read_idx_folder(folder, "mnist"),
        download=lambda folder, progress: download_mnist(folder, progress=progress),
    ),
    "cifar10": Folder(
        lambda folder: find_cifar(CIFAR10, folder) is not None,
        lambda folder, reading: read_cifar(CIFAR10, folder),
        download=lambda folder, progress: download_cifar(CIFAR10, folder, progress),
    ),
    "cifar100": Folder(
        lambda folder: find_cifar(CIFAR100, folder) is not None,
        lambda folder, reading: read_cifar(CIFAR100, folder),
        download=lambda folder, progress: download_cifar(CIFAR100, folder, progress),
    ),
    "cifar10n": Folder(
        holds_cifar10n, lambda folder, reading: read_cifar10n(folder), download=download_cifar10n
    ),
    "clothing1m": Folder(holds_clothing1m, clothing1m, PICTURES),
}
FOLDER_FORMATS = (  # the first that fits; if none does, the last says what is missing
    Folder(holds_idx, lambda folder, reading: read_idx_folder(folder)),
    Folder(has_class_folders, read_image_folder, PICTURES),
)
_TABLE = File(read_table_file, read_table_inputs, TABLES | PICTURES)
FILE_FORMATS: dict[str, File] = {
    ".npz": File(read_npz, lambda path, test, table: (read_npz_inputs(path, test=test), {})),
    ".csv": _TABLE,
    ".tsv": _TABLE,
    ".parquet": _TABLE,
}


def load_data(
    name_or_path: str | Path,
    data_dir: str | Path | None = None,
    download: bool = False,
    progress: Progress | None = None,
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> DataSet:
    """Load a data set by name, or from a folder or file.

    Parameters
    ----------
    name_or_path
        A key of `DATA_SETS`; a folder of class folders or idx files; a .npz, .csv, .tsv or .parquet file.
    data_dir
        Folder of the named data sets. Default: the environment variable NOISELIMIT_DATA.
    download
        Download the files of a named data set that are missing.
    progress
        Called with a file's name and the number of bytes that have arrived.
    reading
        How to read tables and pictures.

    Returns
    -------
    DataSet
        The examples, and the test and validation parts if there are any. If the data cannot be found or used,
        an InputError names the remedy.
    """
    text = os.fspath(name_or_path)
    entry = DATA_SETS.get(text)
    if isinstance(entry, Folder):
        reading.require_only(entry.takes, text)
        return entry.read(_find_folder(text, entry, data_dir, download, progress), reading)
    path = None if entry else _existing_path(text)
    if download:
        raise _nothing_to_download(text)
    if path is None:
        assert entry is not None
        reading.require_only((), text)
        return entry()
    found = _format_of(path)
    reading.require_only(found.takes, text)
    return found.read(path, reading)


def _nothing_to_download(source: str) -> InputError:
    return InputError(f"{source}: there is nothing to download for these data; leave out --download.")


def _format_of(path: Path) -> File | Folder:
    if path.is_file():
        return FILE_FORMATS[path.suffix.lower()]
    return next((folder for folder in FOLDER_FORMATS if folder.is_in(path)), FOLDER_FORMATS[-1])


def _existing_path(text: str) -> Path:
    """The folder or file of that name, if its format is known."""
    path = Path(text)
    if text and (path.is_dir() or (path.is_file() and path.suffix.lower() in FILE_FORMATS)):
        return path
    if text and path.exists():
        raise InputError(f"{text}: unknown format; give a folder or a {', '.join(FILE_FORMATS)} file.")
    if path.suffix or len(path.parts) > 1:
        raise InputError(f"{text}: there is no such file or folder; check the path.")
    raise unknown("data set", text, DATA_SETS)


def _find_folder(
    name: str, entry: Folder, data_dir: str | Path | None, download: bool, progress: Progress | None
) -> Path:
    """The folder with the files: NAME in the data folder, or the data folder itself."""
    parent = data_dir or os.environ.get(VARIABLE)
    if not parent:
        hint = ", and add --download if the files are missing" if entry.download else ""
        raise InputError(f"{name}: the data folder is not known; set --data-dir or {VARIABLE}{hint}.")
    folders = (Path(parent) / name, Path(parent))
    folder = next((folder for folder in folders if entry.is_in(folder)), None)
    if download:
        if entry.download is None:
            raise InputError(f"{name}: get the files from their authors and set --data-dir or {VARIABLE}.")
        entry.download(folder or folders[0], progress)
        return folder or folders[0]
    if folder is None:
        hint = "add --download" if entry.download else "ask the authors for the files"
        raise InputError(f"{name}: not found in {parent}; set --data-dir or {VARIABLE}, or {hint}.")
    return folder


@dataclass(frozen=True, eq=False)
class Unlabelled:
    """Inputs to predict for."""

    inputs: Inputs
    names: Sequence[str] | None = None
    """[n] names of the inputs at their source, such as file names."""
    notes: tuple[str, ...] = ()
    """Messages from reading."""
    kept: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    """Columns [n] of a table for the outputs."""


def load_unlabelled(
    name_or_path: str | Path,
    data_dir: str | Path | None = None,
    download: bool = False,
    progress: Progress | None = None,
    *,
    test: bool = False,
    table: Table | None = None,
    shape: tuple[int, ...] | None = None,
    resize: int | None = None,
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> Unlabelled:
    """Inputs to predict for, as `load_data` finds them, or those of the `test` part; files need no labels.

    `table`, `shape` and `resize` are what the run that predicts knows about its inputs: the encoding of its
    table, the shape of an input, and the side to which pictures were scaled before they were cropped. If
    `shape` is given, a single picture or any folder of pictures will do, too.
    """
    text = os.fspath(name_or_path)
    entry = DATA_SETS.get(text)
    if entry is None:
        if download:
            raise _nothing_to_download(text)
        is_picture = text.lower().endswith(ENDINGS) and shape is not None and Path(text).is_file()
        path = Path(text) if is_picture else _existing_path(text)
        if path.is_file() and not is_picture:
            found = FILE_FORMATS[path.suffix.lower()]
            if found is _TABLE and table is None and shape is not None and len(shape) == 3:
                listed = read_new_list(path, reading)
                new = read_new_pictures(path, shape, resize, reading, test=test, listed=listed)
                return Unlabelled(*new)
            reading.require_only((), text)
            inputs, kept = found.read_inputs(path, test, table)
            return Unlabelled(inputs, kept=kept)
        if shape is not None and not holds_idx(path):
            return Unlabelled(*read_new_pictures(path, shape, resize, reading, test=test))
    elif isinstance(entry, Folder) and "resize" in entry.takes and reading.resize is None and shape:
        reading = replace(reading, resize=shape[-1])
    data = load_data(text, data_dir, download, progress, reading)
    part = data.test if test else data.examples
    if part is None:
        raise InputError(f"{text}: there is no test part; leave out --test.")
    return Unlabelled(part.inputs, part.names, data.notes)


def as_data_set(value: Any) -> DataSet:
    """A data set from a DataSet, Examples, a tuple (X, y), or an object that holds inputs and labels.

    These may have any of the types that `from_memory` takes. If the columns of a DataFrame have names, they
    may hold text as well as numbers.
    """
    if isinstance(value, DataSet):
        return value
    if isinstance(value, Examples):
        return DataSet("examples", value)
    inputs, labels = from_memory(value)
    if labels is None:
        raise InputError(
            f"data of type {type(value).__name__} cannot be used; give a DataSet, Examples, a tuple (X, y), "
            "a DataLoader, or a Dataset with a length and labels."
        )
    if is_table(inputs):
        return frame_data_set(inputs, labels)
    name = "arrays" if isinstance(value, tuple) else type(value).__name__
    return DataSet(name, make_examples(inputs, labels, source=name))

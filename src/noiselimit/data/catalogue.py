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
    Cifar,
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
from noiselimit.data.image_tar import has_tars, read_tar_folder
from noiselimit.data.memory import encode_gaps, from_memory
from noiselimit.data.mnist import digits, download_mnist, holds_idx, read_idx_folder
from noiselimit.data.npz import read_npz, read_npz_inputs
from noiselimit.data.reading import PICTURES, TABLES, Reading
from noiselimit.data.shards import (
    find_shards,
    has_shards,
    is_pattern,
    read_parquet_file,
    read_parquet_shards,
    read_shard_inputs,
)
from noiselimit.data.table_file import (
    frame_data_set,
    read_new_list,
    read_table_file,
    read_table_inputs,
)
from noiselimit.data.tables import Table, is_table
from noiselimit.errors import InputError, unknown
from noiselimit.registry import Registry

VARIABLE = "NOISELIMIT_DATA"
ReadInputs = Callable[[Path, bool, Table | None], tuple[Inputs, dict[str, npt.NDArray[Any]]]]
"""(path, whether to read the test part, the run's table) → inputs and kept columns."""


@dataclass(frozen=True)
class Source:
    """A data set, or a format of files or folders."""

    read: Callable[[Path, Reading], DataSet]
    takes: frozenset[str] = frozenset()
    """Fields of a Reading that it uses; others are refused."""
    is_in: Callable[[Path], bool] | None = None
    """Whether a folder holds it; None if it is not in a folder."""
    download: Callable[[Path, Progress | None], None] | None = None
    """None if it cannot be downloaded."""
    read_inputs: ReadInputs | None = None
    """Reads the inputs of a file for predictions; None if only a file with labels can be read."""


def _cifar(cifar: Cifar) -> Source:
    return Source(
        lambda folder, reading: read_cifar(cifar, folder),
        is_in=lambda folder: find_cifar(cifar, folder) is not None,
        download=lambda folder, progress: download_cifar(cifar, folder, progress),
    )


DATA_SETS = {
    "digits": Source(lambda path, reading: digits()),
    "mnist": Source(
        lambda folder, reading: read_idx_folder(folder, "mnist"),
        is_in=holds_idx,
        download=lambda folder, progress: download_mnist(folder, progress=progress),
    ),
    "cifar10": _cifar(CIFAR10),
    "cifar100": _cifar(CIFAR100),
    "cifar10n": Source(
        lambda folder, reading: read_cifar10n(folder), is_in=holds_cifar10n, download=download_cifar10n
    ),
    "clothing1m": Source(clothing1m, PICTURES, holds_clothing1m),
}
_SHARDS = Source(read_parquet_shards, TABLES, has_shards)
FOLDER_FORMATS = (  # the first that fits; if none does, the last says what is missing
    Source(lambda folder, reading: read_idx_folder(folder), is_in=holds_idx),
    _SHARDS,
    Source(read_tar_folder, PICTURES, has_tars),
    Source(read_image_folder, PICTURES, has_class_folders),
)
_TABLE = Source(read_table_file, TABLES | PICTURES, read_inputs=read_table_inputs)
FILE_FORMATS: Registry[Source] = Registry(
    "format",
    "noiselimit.formats",
    "noiselimit.data.catalogue.FILE_FORMATS",
    {
        ".npz": Source(
            read_npz, read_inputs=lambda path, test, table: (read_npz_inputs(path, test, table), {})
        ),
        ".csv": _TABLE,
        ".tsv": _TABLE,
        ".parquet": replace(_TABLE, read=read_parquet_file),
    },
    lambda value: isinstance(value, Source),
    "a noiselimit.data.catalogue.Source",
)
"""By the ending of a file."""


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
        A key of `DATA_SETS`; a folder of class folders, or of idx, Parquet or tar files; a pattern of Parquet
        files; a .npz, .csv, .tsv or .parquet file.
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
    source = DATA_SETS.get(text) or _format_of(_existing_path(text))
    reading.require_only(source.takes, text)
    return source.read(_find_place(text, source, data_dir, download, progress), reading)


def _format_of(path: Path) -> Source:
    if is_pattern(path):
        return _SHARDS
    if path.is_file():
        return FILE_FORMATS[path.suffix.lower()]
    nothing = replace(FOLDER_FORMATS[-1], takes=TABLES | PICTURES)
    return next((each for each in FOLDER_FORMATS if each.is_in and each.is_in(path)), nothing)


def _existing_path(text: str) -> Path:
    """The folder or file of that name, if its format is known."""
    path = Path(text)
    if text and is_pattern(path):
        return path
    if text and (path.is_dir() or (path.is_file() and path.suffix.lower() in FILE_FORMATS)):
        return path
    if text and path.exists():
        raise InputError(f"{text}: unknown format; give a folder or a {', '.join(FILE_FORMATS)} file.")
    if path.suffix or len(path.parts) > 1:
        raise InputError(f"{text}: there is no such file or folder; check the path.")
    raise unknown("data set", text, DATA_SETS)


def _find_place(
    text: str, source: Source, data_dir: str | Path | None, download: bool, progress: Progress | None
) -> Path:
    """The path itself or, for a named data set, the folder NAME in the data folder, or that itself."""
    if text in DATA_SETS and source.is_in:
        parent = data_dir or os.environ.get(VARIABLE)
        hint = "add --download" if source.download else "ask the authors for the files"
        if not parent:
            raise InputError(f"{text}: the data folder is not known; set --data-dir or {VARIABLE}.")
        folders = (Path(parent) / text, Path(parent))
        folder = next((folder for folder in folders if source.is_in(folder)), None)
        if download and source.download:
            source.download(folder or folders[0], progress)
            return folder or folders[0]
        if folder is None:
            raise InputError(f"{text}: not found in {parent}; set --data-dir or {VARIABLE}, or {hint}.")
        text = str(folder)
    if download:
        raise InputError(f"{text}: there is nothing to download for these data; leave out --download.")
    return Path(text)


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
    source = DATA_SETS.get(text)
    if source is not None:
        if "resize" in source.takes and reading.resize is None and shape:
            reading = replace(reading, resize=shape[-1])
    elif not download:
        is_picture = text.lower().endswith(ENDINGS) and shape is not None and Path(text).is_file()
        path = Path(text) if is_picture else _existing_path(text)
        if path.is_file() and not is_picture:
            found = FILE_FORMATS[path.suffix.lower()]
            if "resize" in found.takes and table is None and shape is not None and len(shape) == 3:
                listed = read_new_list(path, reading)
                new = read_new_pictures(path, shape, resize, reading, test=test, listed=listed)
                return Unlabelled(*new)
            reading.require_only((), text)
            if found.read_inputs is not None:
                inputs, kept = found.read_inputs(path, test, table)
                return Unlabelled(inputs, kept=kept)
        elif table is not None and find_shards(path):
            reading.require_only((), text)
            inputs, kept = read_shard_inputs(path, test, table)
            return Unlabelled(inputs, kept=kept)
        elif shape is not None and not holds_idx(path):
            return Unlabelled(*read_new_pictures(path, shape, resize, reading, test=test))
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
    inputs, table = encode_gaps(inputs, name)
    return DataSet(name, make_examples(inputs, labels, source=name), table=table)

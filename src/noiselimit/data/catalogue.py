"""From what a Python user holds, arrays or a torch Dataset, to a data set."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from noiselimit.data.arrays import as_array
from noiselimit.data.cifar import CIFAR10, CIFAR100, download_cifar, find_version, read_cifar
from noiselimit.data.cifar10n import download_cifar10n, holds_cifar10n, read_cifar10n
from noiselimit.data.clothing1m import clothing1m, holds_clothing1m
from noiselimit.data.download import Progress
from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.data.image_folder import ENDINGS, has_class_folders, read_image_folder, read_new_pictures
from noiselimit.data.lazy import Inputs
from noiselimit.data.mnist import digits, download_mnist, holds_idx, mnist, read_idx_folder
from noiselimit.data.npz import read_npz, read_npz_inputs
from noiselimit.data.reading import PICTURES, TABLES, Reading
from noiselimit.data.table_file import frame_data_set, is_table, read_table_file, read_table_inputs
from noiselimit.data.tables import Table
from noiselimit.errors import InputError, unknown


@dataclass(frozen=True)
class Stored:
    """A data set whose files lie in a folder that the user names."""

    is_in: Callable[[Path], bool]
    read: Callable[[Path, Reading], DataSet]
    download: Callable[[Path, Progress | None], None] | None
    """None where the data may be had from their authors only."""
    takes: frozenset[str] = frozenset()
    """What of a Reading it heeds; here and below, anything else is refused."""


@dataclass(frozen=True)
class FolderFormat:
    """A kind of folder that anybody's data may come in."""

    is_in: Callable[[Path], bool]
    read: Callable[[Path, Reading], DataSet]
    takes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class FileFormat:
    """A kind of file that anybody's data may come in."""

    read: Callable[[Path, Reading], DataSet]
    read_inputs: Callable[[Path, bool, Table | None], Inputs]
    """(path, whether of the test part, how the run's table was encoded) → inputs; labels are not needed."""
    takes: frozenset[str] = frozenset()


DATA_SETS: dict[str, Callable[[], DataSet] | Stored] = {
    "digits": digits,
    "mnist": Stored(
        holds_idx,
        lambda folder, reading: mnist(folder),
        lambda folder, progress: download_mnist(folder, progress=progress),
    ),
    "cifar10": Stored(
        lambda folder: find_version(CIFAR10, folder) is not None,
        lambda folder, reading: read_cifar(CIFAR10, folder),
        lambda folder, progress: download_cifar(CIFAR10, folder, progress),
    ),
    "cifar100": Stored(
        lambda folder: find_version(CIFAR100, folder) is not None,
        lambda folder, reading: read_cifar(CIFAR100, folder),
        lambda folder, progress: download_cifar(CIFAR100, folder, progress),
    ),
    "cifar10n": Stored(holds_cifar10n, lambda folder, reading: read_cifar10n(folder), download_cifar10n),
    "clothing1m": Stored(holds_clothing1m, clothing1m, None, PICTURES),
}
FOLDER_FORMATS: tuple[FolderFormat, ...] = (
    FolderFormat(holds_idx, lambda folder, reading: read_idx_folder(folder)),
    FolderFormat(has_class_folders, read_image_folder, PICTURES),
)
FILE_FORMATS: dict[str, FileFormat] = {
    ".npz": FileFormat(read_npz, lambda path, test, table: read_npz_inputs(path, test=test)),
    ".csv": FileFormat(read_table_file, read_table_inputs, TABLES),
    ".tsv": FileFormat(read_table_file, read_table_inputs, TABLES),
    ".parquet": FileFormat(read_table_file, read_table_inputs, TABLES),
}


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
    shape: tuple[int, ...] | None = None,
    resize: int | None = None,
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> Unlabelled:
    """The inputs to predict for: those that `load_data` would train on, or the test part.

    Labels are neither needed nor read from a file, so one with inputs alone will do. The rest says what the
    run that is to predict knows of its inputs: how it encoded its `table`, if it had one; the `shape` of an
    input; the side to which pictures were scaled before the window was cut (`resize`). Where the shape is
    known, pictures are brought to it, and any folder of them will do, or a single one.
    """
    text = os.fspath(name_or_path)
    entry = DATA_SETS.get(text)
    if entry is None:
        if download:
            raise nothing_to_download(text)
        found = _from_path(text, test, table, shape, resize, reading)
        if found is not None:
            return found
    elif isinstance(entry, Stored) and "resize" in entry.takes and reading.resize is None and shape:
        reading = replace(reading, resize=shape[-1])
    data = load_data(text, data_dir, download, progress, reading)
    part = data.test if test else data.examples
    if part is None:
        raise InputError(f"{text}: there is no test part; leave out --test.")
    return Unlabelled(part.inputs, part.names, data.notes)


def _from_path(
    text: str,
    test: bool,
    table: Table | None,
    shape: tuple[int, ...] | None,
    resize: int | None,
    reading: Reading,
) -> Unlabelled | None:
    """What can be read without labels; None for a folder that is read as for training."""
    if text.lower().endswith(ENDINGS) and shape is not None and Path(text).is_file():
        path = Path(text)
    else:
        path = existing_path(text)
        found = format_of(path)
        if isinstance(found, FileFormat):
            reading.require_only((), text)
            return Unlabelled(found.read_inputs(path, test, table))
        if shape is None or holds_idx(path):
            return None
    return Unlabelled(*read_new_pictures(path, shape, resize, reading, test=test))


def as_data_set(value: Any) -> DataSet:
    """A DataSet from a DataSet, Examples, a tuple (X, y), or a map-style Dataset of pairs (x, y).

    X may be a DataFrame: where its columns have names, they may hold text as well as numbers.
    """
    if isinstance(value, DataSet):
        return value
    if isinstance(value, Examples):
        return DataSet("examples", value)
    if isinstance(value, tuple) and len(value) == 2 and is_table(value[0]):
        return frame_data_set(*value)
    if isinstance(value, tuple) and len(value) == 2:
        return DataSet("arrays", make_examples(*value, source="arrays"))
    if _is_map_style(value):
        return DataSet(type(value).__name__, _collect(value))
    raise InputError(
        f"data of type {type(value).__name__} cannot be used; give a DataSet, Examples, a tuple (X, y) "
        "of arrays or a torch Dataset with a length."
    )


def _is_map_style(value: Any) -> bool:
    """Whether items can be fetched by number: told by what a torch Dataset offers, so torch is not loaded.

    Arrays, tensors and tables could be indexed too, but they lack the labels: these have a shape.
    """
    indexable = hasattr(value, "__len__") and hasattr(value, "__getitem__")
    return indexable and not hasattr(value, "shape") and not isinstance(value, Mapping | str | bytes)


def _collect(pairs: Any) -> Examples:
    """Fetch every item once. Random augmentation in the Dataset is thereby frozen."""
    source = type(pairs).__name__
    inputs, labels = [], []
    for row in range(len(pairs)):
        item = pairs[row]
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise InputError(f"{source}: item {row} is not a pair; return (input, label) from the Dataset.")
        inputs.append(as_array(item[0], source, f"the input of item {row}"))
        if inputs[row].shape != inputs[0].shape:
            raise InputError(
                f"{source}: the input of item {row} has shape {list(inputs[row].shape)} but that of item 0 "
                f"{list(inputs[0].shape)}; bring all inputs to one shape."
            )
        labels.append(item[1])
    if not inputs:
        raise InputError(f"{source}: the Dataset is empty; give at least one example of each class.")
    return make_examples(np.stack(inputs), labels, source=source)

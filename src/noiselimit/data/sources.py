"""From what a user types, the name of a data set or a path, to the data."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from noiselimit.data.digits import digits
from noiselimit.data.examples import DataSet
from noiselimit.data.idx import holds_idx, read_idx_folder
from noiselimit.data.mnist import Progress, download_mnist, mnist
from noiselimit.data.npz import read_npz, read_npz_inputs
from noiselimit.errors import InputError, unknown

VARIABLE = "NOISELIMIT_DATA"


@dataclass(frozen=True)
class Stored:
    """A data set whose files lie in a folder that the user names."""

    is_in: Callable[[Path], bool]
    read: Callable[[Path], DataSet]
    download: Callable[[Path, Progress | None], None]


# A new data set is a new file beside this one and a line here.
DATA_SETS: dict[str, Callable[[], DataSet] | Stored] = {
    "digits": digits,
    "mnist": Stored(holds_idx, mnist, lambda folder, progress: download_mnist(folder, progress=progress)),
}


def load_data(
    name_or_path: str | Path,
    data_dir: str | Path | None = None,
    download: bool = False,
    progress: Progress | None = None,
) -> DataSet:
    """A data set by name, or from a path: a folder in idx format or an .npz file.

    Stored data sets are looked for in `data_dir`, else in the folder that NOISELIMIT_DATA names.
    """
    text = os.fspath(name_or_path)
    entry = DATA_SETS.get(text)
    if isinstance(entry, Stored):
        return entry.read(_find_folder(text, entry, data_dir, download, progress))
    if entry is not None:
        return entry()
    path = _existing_path(text)
    return read_idx_folder(path) if path.is_dir() else read_npz(path)


def load_inputs(
    name_or_path: str | Path,
    data_dir: str | Path | None = None,
    download: bool = False,
    progress: Progress | None = None,
    *,
    test: bool = False,
) -> npt.NDArray[Any]:
    """The inputs [n, …] to predict for: those that `load_data` would train on, or the test part.

    Labels are neither needed nor read from an .npz file, so one with inputs alone will do.
    """
    text = os.fspath(name_or_path)
    if text not in DATA_SETS and (path := _existing_path(text)).is_file():
        return read_npz_inputs(path, test=test)
    data = load_data(text, data_dir, download, progress)
    if test and data.test is None:
        raise InputError(f"{text}: there is no test part; leave out --test.")
    return data.test.inputs if test and data.test else data.examples.inputs


def _existing_path(text: str) -> Path:
    """The folder or .npz file of that name; nothing else can be read."""
    path = Path(text)
    if not text:  # which Path would take for the current folder
        raise unknown("data set", text, DATA_SETS)
    if path.is_dir() or (path.is_file() and path.suffix == ".npz"):
        return path
    if path.exists():
        raise InputError(
            f"{text}: data must be an .npz file or a folder in MNIST's idx format; convert this file."
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
        raise InputError(
            f"{name}: no data folder is named; set --data-dir or {VARIABLE}, "
            "and add --download to fetch the files."
        )
    folders = (Path(parent) / name, Path(parent))
    folder = next((folder for folder in folders if entry.is_in(folder)), None)
    if download:
        entry.download(folder or folders[0], progress)
        return folder or folders[0]
    if folder is None:
        raise InputError(
            f"{name}: its files are neither in {folders[0]} nor in {parent}; "
            f"name their folder with --data-dir or {VARIABLE}, or add --download to fetch them."
        )
    return folder

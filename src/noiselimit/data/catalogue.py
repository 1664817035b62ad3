"""What can be read: the named data sets, and the kinds of folders and files that anybody's data may come in.

A new data set or format is a new file beside this one and a line here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from noiselimit.data.cifar import CIFAR10, CIFAR100, find_version, read_cifar
from noiselimit.data.cifar10n import download_cifar10n, holds_cifar10n, read_cifar10n
from noiselimit.data.cifar_download import download_cifar
from noiselimit.data.class_folders import has_class_folders
from noiselimit.data.clothing1m import clothing1m, holds_clothing1m
from noiselimit.data.digits import digits
from noiselimit.data.download import Progress
from noiselimit.data.examples import DataSet
from noiselimit.data.idx import holds_idx, read_idx_folder
from noiselimit.data.image_folder import read_image_folder
from noiselimit.data.lazy import Inputs
from noiselimit.data.mnist import download_mnist, mnist
from noiselimit.data.npz import read_npz, read_npz_inputs
from noiselimit.data.reading import PICTURES, TABLES, Reading
from noiselimit.data.table import Table
from noiselimit.data.table_file import read_table_file, read_table_inputs


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

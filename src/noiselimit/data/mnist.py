"""MNIST, other data in MNIST's idx format, and scikit-learn's digits."""

import gzip
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from noiselimit.data.download import Progress, Published, download, has_digest
from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.data.reading import readable, require_modest
from noiselimit.errors import InputError

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
GZIP_MAGIC = b"\x1f\x8b"

MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
# SHA-256 of the decompressed files, because mirrors compress differently.
FILES = {
    ("train-images", 3): "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    ("train-labels", 1): "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ("t10k-images", 3): "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ("t10k-labels", 1): "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
MOST_BYTES = 64 * 2**20  # the largest file has 47 MB when decompressed
REMEDY = "put MNIST's four idx files in a folder yourself and name it with --data-dir."


def digits() -> DataSet:
    """scikit-learn's 1,797 handwritten digits, [1, 8, 8] uint8 with values 0 to 16, without a test part."""
    from sklearn.datasets import load_digits  # takes a second to import

    bunch = load_digits()
    return DataSet("digits", make_examples(bunch.images.astype(np.uint8), bunch.target, source="digits"))


def download_mnist(folder: Path, mirrors: Sequence[str] = MIRRORS, progress: Progress | None = None) -> None:
    """Download the files that are missing or damaged, each from the first mirror that has it."""
    for (part, dimensions), digest in FILES.items():
        present = find_idx_file(folder, part, dimensions)
        if present is None or not has_digest(present, digest, unpacked=present.suffix == ".gz"):
            name = f"{part}-idx{dimensions}-ubyte.gz"
            file = Published(name, digest, tuple(mirrors), MOST_BYTES, REMEDY, unpacked=True)
            download(file, folder / name, progress)


def holds_idx(folder: Path) -> bool:
    """Whether the folder has training images in idx format."""
    return find_idx_file(folder, "train-images", 3) is not None


def find_idx_file(folder: Path, part: str, dimensions: int) -> Path | None:
    """The file of a part, such as train-images, under any of its usual names.

    Compressed files come first, because a download replaces these when they are damaged.
    """
    names = [f"{part}{separator}idx{dimensions}-ubyte" for separator in "-."]
    candidates = [folder / f"{name}{ending}" for ending in (".gz", "") for name in names]
    return next((path for path in candidates if path.is_file()), None)


def read_idx_folder(folder: Path, name: str | None = None) -> DataSet:
    """Images and labels with MNIST's file names; the t10k files, if there are any, are the test part."""
    train = _read_part(folder, "train", None)
    has_test = find_idx_file(folder, "t10k-images", 3) is not None
    test = _read_part(folder, "t10k", train.class_names) if has_test else None
    return DataSet(name or folder.resolve().name, train, test)


def _read_part(folder: Path, part: str, class_names: tuple[str, ...] | None) -> Examples:
    arrays = []
    for what, dimensions in (("images", 3), ("labels", 1)):
        path = find_idx_file(folder, f"{part}-{what}", dimensions)
        if path is None:
            name = f"{part}-{what}-idx{dimensions}-ubyte"
            raise InputError(f"{folder}: there is no {name} or {name}.gz; name a folder in MNIST's format.")
        arrays.append(read_idx(path))
    return make_examples(
        *arrays,
        class_names=class_names,
        source=str(folder / f"{part}-*"),
        may_lack_classes=class_names is not None,
    )


def read_idx(path: Path) -> npt.NDArray[Any]:
    """The array in an idx file, plain or gzipped, in the machine's byte order."""
    with readable(path, "give a file in MNIST's format, or download it again"):
        with path.open("rb") as file:
            compressed = file.read(2) == GZIP_MAGIC
        with gzip.open(path) if compressed else path.open("rb") as stream:
            return _read_array(stream, path)


def _read_array(stream: BinaryIO | gzip.GzipFile, path: Path) -> npt.NDArray[Any]:
    magic = stream.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in TYPES or not magic[3]:
        raise ValueError("it is not an idx file")
    dtype = np.dtype(TYPES[magic[2]])
    shape = np.frombuffer(stream.read(4 * magic[3]), dtype=">u4", count=magic[3]).tolist()
    # An empty dimension would hide the others from the product.
    require_modest(path, dtype.itemsize * math.prod(max(size, 1) for size in shape))
    declared = dtype.itemsize * math.prod(shape)
    values = stream.read(declared + 1)
    if len(values) != declared:
        problem = "is cut off" if len(values) < declared else "goes on after the array"
        raise ValueError(f"it {problem} of shape {shape}")
    return np.frombuffer(values, dtype=dtype).reshape(shape).astype(dtype.newbyteorder("="))

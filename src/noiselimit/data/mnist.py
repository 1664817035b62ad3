"""The handwritten digits that come with scikit-learn: nothing to download, seconds to train."""

import gzip
import math
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from noiselimit.data.download import Progress, Published, download, has_digest
from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.data.reading import require_modest
from noiselimit.errors import InputError
from noiselimit.files import open_regular

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
MOST_DIMENSIONS = 32
MOST_BYTES = 8 * 2**30
PIECE = 2**20  # read in pieces, so that memory grows with what is there and not with what a header claims
GZIP_MAGIC = b"\x1f\x8b"


def read_idx(path: Path) -> npt.NDArray[Any]:
    """The array in an idx file, plain or compressed with gzip, in the machine's byte order."""
    try:
        with open_regular(path) as file:
            compressed = file.read(2) == GZIP_MAGIC
            file.seek(0)
            if not compressed:
                return _read_stream(file, path, os.fstat(file.fileno()).st_size)
            with gzip.GzipFile(fileobj=file) as stream:
                return _read_stream(stream, path, None)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(
            f"{path}: the gzip compression is damaged or cut off; fetch the file again."
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name a readable idx file.") from None


def holds_idx(folder: Path) -> bool:
    """Whether the folder has the images to train on."""
    return find_idx_file(folder, "train-images", 3) is not None


def find_idx_file(folder: Path, part: str, dimensions: int) -> Path | None:
    """The file of one part, such as train-images, under any of its usual names.

    Compressed files come first: these are the ones that a download replaces when they are damaged.
    """
    spellings = [f"{part}{separator}idx{dimensions}-ubyte" for separator in "-."]
    candidates = [folder / f"{name}{ending}" for ending in (".gz", "") for name in spellings]
    return next((path for path in candidates if path.is_file()), None)


def read_idx_folder(folder: Path, name: str | None = None) -> DataSet:
    """Images and labels named as MNIST names them; the t10k files, where present, are the test part."""
    train = _read_part(folder, "train", None)
    has_test = find_idx_file(folder, "t10k-images", 3) is not None
    test = _read_part(folder, "t10k", train.class_names) if has_test else None
    return DataSet(name or folder.resolve().name, train, test)


def _read_part(folder: Path, part: str, class_names: tuple[str, ...] | None) -> Examples:
    """The images and labels of one part; its classes are `class_names` where these are known already."""
    arrays = []
    for what, dimensions in (("images", 3), ("labels", 1)):
        path = find_idx_file(folder, f"{part}-{what}", dimensions)
        if path is None:
            raise InputError(
                f"{folder}: there is no file {part}-{what}-idx{dimensions}-ubyte or "
                f"{part}-{what}-idx{dimensions}-ubyte.gz; name a folder in MNIST's idx format."
            )
        arrays.append(read_idx(path))
    return make_examples(
        *arrays,
        class_names=class_names,
        source=str(folder / f"{part}-*"),
        may_lack_classes=class_names is not None,
    )


def _read_stream(stream: BinaryIO | gzip.GzipFile, path: Path, size: int | None) -> npt.NDArray[Any]:
    """The array in an uncompressed stream, of `size` bytes where that is known, which must end with it."""
    magic = stream.read(4)
    if (
        len(magic) < 4
        or magic[:2] != b"\0\0"
        or magic[2] not in TYPES
        or not 1 <= magic[3] <= MOST_DIMENSIONS
    ):
        raise InputError(f"{path}: this is not an idx file; name one in MNIST's format.")
    sizes = stream.read(4 * magic[3])
    shape = np.frombuffer(sizes[: len(sizes) // 4 * 4], dtype=">u4").tolist()
    dtype = np.dtype(TYPES[magic[2]])
    # An empty dimension hides the others from the product, but NumPy refuses absurd ones all the same.
    if dtype.itemsize * math.prod(max(size, 1) for size in shape) > MOST_BYTES:
        raise InputError(
            f"{path}: the header declares an array of shape {shape}, over 8 GiB; split the file."
        )
    declared = dtype.itemsize * math.prod(shape)
    if size is None:
        require_modest(path, declared)
    elif len(shape) < magic[3] or declared > size - len(magic) - len(sizes):
        raise InputError(f"{path}: the file is cut off before its end; fetch it again.")
    values = bytearray()
    while piece := stream.read(min(PIECE, declared + 1 - len(values))):
        values += piece
    if len(shape) < magic[3] or len(values) < declared:
        raise InputError(f"{path}: the file is cut off before its end; fetch it again.")
    if len(values) > declared:
        raise InputError(f"{path}: bytes follow after the array of shape {shape}; fetch the file again.")
    return np.frombuffer(values, dtype=dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=False)


MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
# The digest is that of the decompressed file: mirrors compress differently.
FILES = {
    ("train-images", 3): "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    ("train-labels", 1): "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ("t10k-images", 3): "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ("t10k-labels", 1): "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
MOST_MNIST = 64 * 2**20  # the largest file has 47 MB when decompressed
REMEDY = "put MNIST's four idx files in a folder by other means and name it with --data-dir."


def mnist(folder: Path) -> DataSet:
    """60,000 pictures [1, 28, 28] uint8 of the ten digits, and 10,000 in the test part."""
    return read_idx_folder(folder, "mnist")


def download_mnist(folder: Path, mirrors: Sequence[str] = MIRRORS, progress: Progress | None = None) -> None:
    """Fetch what is not yet in the folder, each file from the first mirror that has it whole."""
    for (part, dimensions), digest in FILES.items():
        present = find_idx_file(folder, part, dimensions)
        if present is None or not has_digest(present, digest, MOST_MNIST, unpacked=present.suffix == ".gz"):
            name = f"{part}-idx{dimensions}-ubyte.gz"
            file = Published(name, digest, tuple(mirrors), MOST_MNIST, "MNIST", REMEDY, unpacked=True)
            download(file, folder / name, progress)


def digits() -> DataSet:
    """1,797 pictures [1, 8, 8] of the ten digits, values 0 to 16 as uint8; there is no official test part."""
    from sklearn.datasets import load_digits  # a second to import: only for those who ask for it

    bunch = load_digits()
    return DataSet("digits", make_examples(bunch.images.astype(np.uint8), bunch.target, source="digits"))

"""MNIST: handwritten digits in four idx files, read from a folder or fetched from public mirrors."""

import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO

from noiselimit.data.examples import DataSet
from noiselimit.data.idx import PIECE, find_idx_file, read_idx_folder
from noiselimit.errors import InputError
from noiselimit.files import atomic_file

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
MOST_BYTES = 64 * 2**20  # the largest file has 47 MB when decompressed
TIMEOUT = 30.0  # seconds without an answer

Progress = Callable[[str, int], None]  # told the file's name and the bytes of it that have arrived
DAMAGED = (OSError, EOFError, zlib.error, HTTPException)  # gzip.BadGzipFile and URLError are OSErrors


def mnist(folder: Path) -> DataSet:
    """60,000 pictures [1, 28, 28] uint8 of the ten digits, and 10,000 in the test part."""
    return read_idx_folder(folder, "mnist")


def download_mnist(folder: Path, mirrors: Sequence[str] = MIRRORS, progress: Progress | None = None) -> None:
    """Fetch what is not yet in the folder, each file from the first mirror that has it whole."""
    for (part, dimensions), digest in FILES.items():
        present = find_idx_file(folder, part, dimensions)
        if present is None or not _is_whole(present, digest):
            name = f"{part}-idx{dimensions}-ubyte.gz"
            content = _fetch_from_any(name, digest, mirrors, progress)
            with atomic_file(folder / name) as temporary:
                temporary.write_bytes(content)


def _fetch_from_any(name: str, digest: str, mirrors: Sequence[str], progress: Progress | None) -> bytes:
    reason: object = "there is no mirror"
    for mirror in mirrors:
        try:
            content = _fetch(
                mirror.rstrip("/") + "/" + name, lambda count: progress and progress(name, count)
            )
            if _digest(gzip.GzipFile(fileobj=io.BytesIO(content))) == digest:
                return content
            reason = f"{mirror} has another content"
        except DAMAGED as error:
            reason = f"{mirror}: {error}"
    raise InputError(
        f"{name} could not be downloaded ({reason}); "
        "put MNIST's four idx files in a folder by other means and name it with --data-dir."
    )


def _fetch(url: str, arrived: Callable[[int], object]) -> bytes:
    from urllib.request import urlopen  # slow to import, and most sessions never download

    content = bytearray()
    with urlopen(url, timeout=TIMEOUT) as response:
        while piece := response.read(PIECE):
            content += piece
            arrived(len(content))
            if len(content) > MOST_BYTES:
                raise OSError("the answer is far larger than MNIST")
    return bytes(content)


def _is_whole(path: Path, digest: str) -> bool:
    try:
        with path.open("rb") as file:
            return _digest(gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file) == digest
    except DAMAGED:
        return False


def _digest(stream: BinaryIO | gzip.GzipFile) -> str:
    """SHA-256 of the stream's content, which is read in pieces and no further than a file of MNIST goes."""
    digest = hashlib.sha256()
    for _ in range(MOST_BYTES // PIECE):
        digest.update(stream.read(PIECE))
    return digest.hexdigest()

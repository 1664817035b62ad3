"""Pictures in files, decoded when they are asked for."""

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from noiselimit.data.decoding import Cut, read_picture
from noiselimit.data.lazy import LazyInputs, View
from noiselimit.data.paths import Paths
from noiselimit.machine import available_cores

PIECE = 256  # pictures for a thread at a time
MOST_THREADS = 8


class PictureFiles(LazyInputs):
    """Files below a folder as inputs [n, channels, height, width]; a million of them take some 45 MB."""

    def __init__(self, folder: Path, paths: Paths, cut: Cut) -> None:
        self.folder = folder
        self.paths = paths
        self.cut = cut

    @property
    def shape(self) -> tuple[int, ...]:
        """[n, channels, height, width]."""
        return (len(self.paths), self.cut.channels, self.cut.height, self.cut.width)

    @cached_property
    def digest(self) -> bytes:
        """Of names, file sizes and the cut. A picture replaced by one of as many bytes is not noticed: that
        would take reading all files whenever the data are named."""
        digest = hashlib.blake2b(f"{self.shape},{self.cut.resize};".encode())
        digest.update(self.paths.blob)
        digest.update(self.paths.ends.data)
        digest.update(file_sizes(self.folder, self.paths).data)
        return digest.digest()

    def path(self, row: int) -> bytes:
        """Where the picture lies."""
        return os.path.join(os.fsencode(self.folder), self.paths.encoded(row))

    def read(self, row: int, view: View = View()) -> npt.NDArray[np.uint8]:  # noqa: B008 - frozen
        """One picture, [channels, height, width]."""
        return read_picture(self.path(row), self.cut, view)

    def take(self, rows: Sequence[int]) -> "PictureFiles":
        """These pictures alone, in this order."""
        return PictureFiles(self.folder, self.paths.take(rows), self.cut)


def file_sizes(folder: Path, paths: Paths) -> npt.NDArray[np.int64]:
    """Bytes of each file [n]; −1 where there is none."""
    sizes = np.full(len(paths), -1, np.int64)
    root = os.fsencode(folder)

    def measure(row: int) -> None:
        try:
            sizes[row] = os.stat(os.path.join(root, paths.encoded(row))).st_size
        except OSError:
            sizes[row] = -1

    for_each(measure, len(paths))
    return sizes


def for_each(work: Callable[[int], None], count: int) -> None:
    """Do it for 0 … count − 1 in threads; Pillow decodes, and a disk answers, while others run.

    The first exception, by number, is the one raised, and ends the rest.
    """

    def do(rows: range) -> None:
        for row in rows:
            work(row)

    with ThreadPoolExecutor(min(MOST_THREADS, available_cores())) as pool:
        starts = range(0, count, PIECE)
        futures = [pool.submit(do, range(start, min(start + PIECE, count))) for start in starts]
        try:
            for future in futures:
                future.result()
        finally:
            for future in futures:
                future.cancel()

"""Writing idx files, which only tests need to do."""

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

CODES = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}


def _idx_bytes(array: np.ndarray) -> bytes:
    code = CODES[array.dtype.str[1:]]
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.fixture(scope="session")
def idx_bytes() -> Callable[[np.ndarray], bytes]:
    """The idx encoding of an array, written independently of the reader."""
    return _idx_bytes


@pytest.fixture(scope="session")
def write_idx_folder() -> Callable[[Path], tuple[np.ndarray, np.ndarray]]:
    """Write 12 training and 6 test pictures of 3 classes as MNIST has them; return the training ones."""

    def write(folder: Path) -> tuple[np.ndarray, np.ndarray]:
        folder.mkdir(parents=True, exist_ok=True)
        images = np.arange(12 * 5 * 4, dtype=np.uint8).reshape(12, 5, 4)
        labels = (np.arange(12) % 3).astype(np.uint8)
        for part, count, ending in (("train", 12, ".gz"), ("t10k", 6, "")):
            for what, array in (("images-idx3", images), ("labels-idx1", labels)):
                content = _idx_bytes(array[:count])
                path = folder / f"{part}-{what}-ubyte{ending}"
                path.write_bytes(gzip.compress(content) if ending else content)
        return images, labels

    return write

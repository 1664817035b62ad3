"""Writers of data files, and a file server on this machine."""

import gzip
import io
import struct
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
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


@pytest.fixture(scope="session")
def write_cifar10() -> Callable[[Path], tuple[np.ndarray, np.ndarray]]:
    """Write a CIFAR-10 of 60 training and 12 test pictures, binary version; return the training ones."""

    def write(folder: Path) -> tuple[np.ndarray, np.ndarray]:
        folder.mkdir(parents=True, exist_ok=True)
        generator = np.random.default_rng(5)
        pictures = generator.integers(0, 256, (72, 3, 32, 32), dtype=np.uint8)
        labels = (np.arange(72) * 7 % 10).astype(np.uint8)
        for start, name in zip(range(0, 72, 12), [*map(str, range(1, 6)), "test"], strict=True):
            path = folder / ("test_batch.bin" if name == "test" else f"data_batch_{name}.bin")
            with path.open("wb") as file:
                for row in range(start, start + 12):
                    file.write(bytes([labels[row]]) + pictures[row].tobytes())
        return pictures[:60], labels[:60]

    return write


@pytest.fixture(scope="session")
def tar_gz() -> Callable[[dict[str, bytes | tarfile.TarInfo]], bytes]:
    """A .tar.gz archive of these members: contents, or entries of other kinds."""

    def make(members: dict[str, bytes | tarfile.TarInfo]) -> bytes:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w:gz") as archive:
            for name, content in members.items():
                member = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
                if isinstance(content, bytes):
                    member.size = len(content)
                archive.addfile(member, io.BytesIO(content) if isinstance(content, bytes) else None)
        return stream.getvalue()

    return make


@dataclass
class Server:
    """A file server: its address, the folder it serves, and the paths that it was asked for so far."""

    url: str
    folder: Path
    asked: list[str] = field(default_factory=list)


class _RecordingHandler(SimpleHTTPRequestHandler):
    asked: list[str]

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()


@pytest.fixture
def file_server(tmp_path: Path) -> Iterator[Server]:
    """Serve the folder tmp_path/served."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = type("Handler", (_RecordingHandler,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=folder)) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
        thread.start()
        yield Server(f"http://127.0.0.1:{httpd.server_port}/", folder, handler.asked)
        httpd.shutdown()
        thread.join()

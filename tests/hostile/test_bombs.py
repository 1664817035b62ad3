"""Small files that declare, or become, more than a machine has: refused before it is allocated."""

import gzip
import io
import resource
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from PIL import Image

from noiselimit.data import parquet
from noiselimit.data import pictures as bombs
from noiselimit.data import reading as sizes
from noiselimit.data.mnist import read_idx
from noiselimit.data.npz import read_npz
from noiselimit.data.pictures import read_header
from noiselimit.data.table_file import read_table_file
from noiselimit.errors import InputError

MIB = 2**20


@contextmanager
def little_memory(most: int = 64 * MIB) -> Iterator[None]:
    """Asking for more address space than this is a MemoryError, which no reader here may need."""
    status = Path("/proc/self/statm").read_text().split()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (int(status[0]) * resource.getpagesize() + most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def refused(read: Callable[[], object], sentence: str) -> None:
    with little_memory(), pytest.raises(InputError, match=sentence) as caught:
        read()
    assert not isinstance(caught.value.__context__, MemoryError)


def npy(shape: str, descr: str = "'|u1'", values: bytes = b"") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + values


def test_gzip_idx(tmp_path: Path) -> None:
    path = tmp_path / "train-images-idx3-ubyte.gz"
    zeros = zlib.compressobj(wbits=31)
    header = struct.pack(">BBBB3I", 0, 0, 8, 3, 2**20, 64, 64)
    content = [zeros.compress(header), *(zeros.compress(bytes(MIB)) for _ in range(64)), zeros.flush()]
    path.write_bytes(b"".join(content))
    refused(lambda: read_idx(path), "would become 4,294,967,296 in memory, more than 100 times as many")


def test_plain_idx_declares_what_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(struct.pack(">BBBB3I", 0, 0, 8, 3, 2**20, 64, 64) + bytes(64))
    refused(lambda: read_idx(path), "cut off before its end")


def test_npz_that_declares_what_is_not_there(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", npy("(1099511627776,)"))
    refused(lambda: read_npz(tmp_path / "a.npz"), "its header declares 1,099,511,627,776 bytes but 0 follow")


def test_npz_of_much_from_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "ALWAYS", 8 * MIB)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", npy(f"({32 * MIB},)", values=bytes(32 * MIB)))
    refused(lambda: read_npz(tmp_path / "a.npz"), "bytes would become 33,5")


def test_npz_that_lists_one_member_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is modest, all together are not."""
    monkeypatch.setattr(sizes, "ALWAYS", 8 * MIB)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(32):
            archive.writestr(f"labels_{number}.npy", npy(f"({MIB},)", values=bytes(MIB)))
    refused(lambda: read_npz(tmp_path / "a.npz"), "bytes would become 33,5")


# No limit on these: pyarrow starts threads, as many as there are cores, and each asks for room of its own.


@contextmanager
def most_allocated() -> Iterator[Callable[[], int]]:
    """The most bytes that pyarrow held at any moment inside."""
    before = pyarrow.default_memory_pool()
    fresh = pyarrow.proxy_memory_pool(pyarrow.system_memory_pool())
    pyarrow.set_memory_pool(fresh)
    try:
        yield lambda: fresh.max_memory() or 0
    finally:
        pyarrow.set_memory_pool(before)


def write(path: Path, column: pyarrow.Array | pyarrow.ChunkedArray) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"x": column}), path)
    assert path.stat().st_size < MIB


def test_parquet_of_one_number_a_million_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "ALWAYS", 4 * MIB)
    write(tmp_path / "a.parquet", pyarrow.array(np.zeros(2**20, np.int64)))
    with pytest.raises(InputError, match="bytes would become 8,388,608 in memory"):
        read_table_file(tmp_path / "a.parquet")


def test_parquet_of_one_long_text_many_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "ALWAYS", 4 * MIB)
    text = np.random.default_rng(0).bytes(2**16).hex()
    pieces = [pyarrow.array([text] * 100)] * 200  # one copy of a hundred, written as numbers of one text
    write(tmp_path / "a.parquet", pyarrow.chunked_array(pieces))
    before = pyarrow.total_allocated_bytes()
    with pytest.raises(InputError, match="bytes would become 2,6"):
        read_table_file(tmp_path / "a.parquet")
    assert pyarrow.total_allocated_bytes() - before < 64 * MIB


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"column_encoding": {"x": "DELTA_BYTE_ARRAY"}},
        {"data_page_version": "2.0"},
        {"compression": "gzip"},
    ],
    ids=["plain", "differences", "second version", "gzip"],
)
def test_parquet_of_long_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]) -> None:
    """What the pages become is known before one of them is unpacked; of differences, before many are."""
    monkeypatch.setattr(sizes, "ALWAYS", 4 * MIB)
    monkeypatch.setattr(parquet, "AT_ONCE", MIB)
    texts = pyarrow.array(["0" * MIB + str(number) for number in range(200)])
    options = {"compression": "zstd", "use_dictionary": False, "row_group_size": 50, **how}
    pyarrow.parquet.write_table(pyarrow.table({"x": texts}), tmp_path / "a.parquet", **options)
    with most_allocated() as most, pytest.raises(InputError, match=r"bytes would become [\d,]+ in memory"):
        read_table_file(tmp_path / "a.parquet")
    assert most() < (64 * MIB if "column_encoding" in how else MIB)


@pytest.mark.parametrize("kind", [pyarrow.string_view(), pyarrow.json_()], ids=str)
def test_parquet_of_texts_that_cannot_be_numbered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: pyarrow.DataType
) -> None:
    monkeypatch.setattr(sizes, "ALWAYS", 4 * MIB)
    monkeypatch.setattr(parquet, "AT_ONCE", 4 * MIB)
    text = pyarrow.array([np.random.default_rng(0).bytes(2**16).hex()] * 100)
    piece = pyarrow.ExtensionArray.from_storage(kind, text) if kind == pyarrow.json_() else text.cast(kind)
    write(tmp_path / "a.parquet", pyarrow.chunked_array([piece] * 50))
    with most_allocated() as most, pytest.raises(InputError, match=r"bytes would become [\d,]+ in memory"):
        read_table_file(tmp_path / "a.parquet")
    assert most() < 64 * MIB


def test_parquet_of_wide_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "ALWAYS", 4 * MIB)
    wide = pyarrow.array([bytes(2**16)] * 1000, pyarrow.binary(2**16))
    write(tmp_path / "a.parquet", wide)
    with pytest.raises(InputError, match=r"bytes would become 65,5"):
        read_table_file(tmp_path / "a.parquet")


@pytest.mark.parametrize("first", ["c", '"a\n"', '"a,""b"'])
def test_csv_of_many_columns(tmp_path: Path, first: str) -> None:
    """Each would take some 8 kB; those in a name do not count."""
    path = tmp_path / "a.csv"
    path.write_text("\n" + first + ",c" * sizes.MOST_COLUMNS + "\n")
    refused(lambda: read_table_file(path), "the table has more than 100,000 columns")


def test_parquet_of_many_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "MOST_COLUMNS", 3)
    pyarrow.parquet.write_table(pyarrow.table({name: [1] for name in "abcd"}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="the table has more than 3 columns"):
        read_table_file(tmp_path / "a.parquet")


def png(width: int, height: int, content: bytes = b"") -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(content)) + chunk(b"IEND", b"")


def webp(width: int, height: int) -> bytes:
    sides = b"".join((side - 1).to_bytes(3, "little") for side in (width, height))
    body = b"VP8X" + struct.pack("<IB3x", 10, 0) + sides
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


@pytest.mark.parametrize(
    "content",
    [png(10_000, 10_000), png(30_000, 30_000, bytes(10**6)), webp(16_000, 16_000), webp(2**24, 2**24)],
    ids=["PNG", "large PNG", "WebP", "large WebP"],
)
def test_pictures_of_too_many_pixels(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(content)
    refused(lambda: read_header(bytes(path)), "has over 80,000,000 pixels|exceeds limit of")


@pytest.mark.parametrize("how", [{"lossless": True}, {"lossless": False}, {"exif": Image.Exif()}])
def test_pixels_of_real_webp_files(how: dict[str, object]) -> None:
    file = io.BytesIO()
    Image.new("RGBA" if how.get("lossless") else "RGB", (123, 45)).save(file, "webp", **how)
    assert bombs.webp_pixels(file.getvalue()[:32]) == 123 * 45


def test_a_postscript_program_is_no_picture(tmp_path: Path) -> None:
    """Pillow would start Ghostscript for it, whatever the file is called."""
    path = tmp_path / "a.png"
    path.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n")
    refused(lambda: read_header(bytes(path)), "no known picture format")


def test_compressed_files_of_usual_growth_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "ALWAYS", 0)
    pictures = np.random.default_rng(0).integers(0, 9, (50, 8, 8), np.uint8)
    header = struct.pack(">BBBB3I", 0, 0, 8, 3, 50, 8, 8)
    (tmp_path / "a.gz").write_bytes(gzip.compress(header + pictures.tobytes()))
    assert np.array_equal(read_idx(tmp_path / "a.gz"), pictures)
    np.savez_compressed(tmp_path / "a.npz", X=pictures, y=np.arange(50) % 2)
    assert len(read_npz(tmp_path / "a.npz").examples) == 50

"""Files that were made to do harm, or look like it, as a command line meets them."""

import gzip
import io
import json
import os
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from asked import Case

TRAIN = ("train", "--epochs", "1", "--out", "out", "--data")


def _file(name: str, content: bytes) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)

    return write


def _case(what: str, name: str, content: bytes, *words: str, asked: tuple[str, ...] | None = None) -> Case:
    return Case("Hostile files", what, asked or (*TRAIN, name), words, _file(name, content))


def _npz(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def _declaring(size: int) -> bytes:
    """An archive whose list says that its one array has so many bytes."""
    content = _npz(X=_npy("|u1", f"({size},)", bytes(64)))
    place = content.rindex(b"PK\1\2") + 24
    return content[:place] + struct.pack("<I", size) + content[place + 4 :]


def _npy(descr: str, shape: str, values: bytes = b"") -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + values


def _idx(*shape: int, values: bytes = b"") -> bytes:
    return struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape) + values


def _png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(9))) + chunk(b"IEND", b"")


class _Program:
    """What a pickle can be: a call of any function when it is loaded."""

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return print, ("this ran",)


def _changed(name: str, **values: object) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        path = folder / "run" / name
        path.write_text(json.dumps({**json.loads(path.read_text()), **values}))

    return write


def _run(what: str, name: str, asked: tuple[str, ...], *words: str, **values: object) -> Case:
    return Case("Hostile files", what, asked, words, _changed(name, **values), needs_run=True)


def _link(name: str) -> Callable[[Path], object]:
    """To a folder of somebody's."""

    def write(folder: Path) -> None:
        (folder / "precious").mkdir()
        (folder / "precious" / "mine.safetensors").touch()
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(folder / "precious")

    return write


def _pipe(name: str, *, endless: bool = False) -> Callable[[Path], object]:
    """Nobody writes to it; or a device that has no end."""

    def write(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to("/dev/zero") if endless else os.mkfifo(folder / name)

    return write


OBJECTS = io.BytesIO()
np.save(OBJECTS, np.array([_Program()], dtype=object), allow_pickle=True)
CIFAR = (*TRAIN[:-1], "--data-dir", ".", "--data", "cifar10")
IMAGES = "idx/train-images-idx3-ubyte"
PREDICT = ("predict", "run", "table.npz", "--out", "p.csv")

CASES = [
    _case("program in an archive", "a.npz", _npz(X=OBJECTS.getvalue(), y=b""), "it holds Python objects"),
    _case("array larger than its file", "a.npz", _npz(X=_npy("<f8", "(2, 1099511627776)")), "0 follow"),
    _case("header of an array cut off", "a.npz", _npz(X=b"\x93NUMPY\1\0\xff\xff"), "its header is damaged"),
    _case("text that is none", "a.npz", _npz(X=_npy("<U1", "(1,)", b"\xff" * 4)), "no Unicode"),
    _case("archive of much from little", "a.npz", _declaring(2**31), "would become 2,147,483,648"),
    _case(
        "idx of much from little", f"{IMAGES}.gz", gzip.compress(_idx(2**20, 64, 64)),
        "would become 4,294,967,296", asked=(*TRAIN, "idx"),
    ),
    _case("idx larger than its file", IMAGES, _idx(2**20, 64, 64), "cut off", asked=(*TRAIN, "idx")),
    _case(
        "idx beyond counting", IMAGES, _idx(*[2**32 - 1] * 3), "over 8 GiB", asked=(*TRAIN, "idx")
    ),
    _case(
        "program as CIFAR", "cifar-10-batches-py/data_batch_1", pickle.dumps(_Program(), 2),
        "refused because it holds the name", "print", asked=CIFAR,
    ),
    _case(
        "picture of many pixels", "photos/a/1.png", _png(10_000, 10_000), "over 80,000,000 pixels",
        asked=(*TRAIN, "photos"),
    ),
    _case(
        "PostScript as picture", "photos/a/1.png", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        "no known picture format", asked=(*TRAIN, "photos"),
    ),
    _case("program as weights", "w.pt", b"", "w.pt is a pickle", "weights_only=True",
          asked=(*TRAIN, "table.npz", "--initial-weights", "w.pt")),
    _case("control characters", "t.csv", b"x,\x1b[2J\n1,2\n", "�[2J", asked=(*TRAIN, "t.csv")),
    _case("table of many columns", "t.csv", b"x" + b",x" * 100_000, "more than 100,000 columns"),
    Case(
        "Hostile files", "pipe as picture", (*TRAIN, "photos"), ("1.png", "not a regular file"),
        _pipe("photos/a/1.png"),
    ),
    Case(
        "Hostile files", "pipe in a run folder", ("show", "run"), ("spec.json cannot be read",),
        _pipe("run/spec.json"), needs_run=True,
    ),
    Case(
        "Hostile files", "endless device in a run folder", ("show", "run"), ("history.jsonl cannot be read",),
        _pipe("run/history.jsonl", endless=True), needs_run=True,
    ),
    Case(
        "Hostile files", "pipe as settings", (*TRAIN, "table.npz", "--config", "c.toml"),
        ("cannot read c.toml", "not a regular file"), _pipe("c.toml"),
    ),
    Case(
        "Hostile files", "endless device as labels", (*TRAIN, "table.npz", "--noise", "given:l.txt"),
        ("l.txt", "not a regular file"), _pipe("l.txt", endless=True),
    ),
    Case(
        "Hostile files", "link as unfinished audit", ("audit", "table.npz", "--out", "found"),
        (".found.unfinished is a link",), _link(".found.unfinished"),
    ),
    _run("code in a run folder", "spec.json", PREDICT, "code at 'os:system'", "--trust", network="os.system"),
    _run("inputs beyond all memory", "data.json", PREDICT, "data.json cannot be read", input_shape=[10**12]),
    _run("infinite scale", "data.json", ("show", "run"), "data.json cannot be read", std=[1e300] * 5),
    _run("text as number", "metrics.json", ("show", "run"), "metrics.json cannot be read", best_epoch="<b>"),
]  # fmt: skip

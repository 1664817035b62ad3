"""Files made to do harm, and damaged ones: an InputError or data, and nothing in a file is executed."""

import ast
import contextlib
import gzip
import io
import os
import pickle
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import noiselimit
from noiselimit import InputError, RunSpec, load_run, train
from noiselimit.data import reading
from noiselimit.data.catalogue import load_data
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.reading import Reading
from noiselimit.noise import as_noise

LABELS = np.arange(60) % 3
PICTURES = np.random.default_rng(0).integers(0, 256, (60, 3072), np.uint8)


def write_idx(path: Path, array: np.ndarray) -> None:
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    content = header + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good file of every format."""
    folder = tmp_path_factory.mktemp("samples")
    inputs = np.random.default_rng(0).normal(size=(60, 2))
    np.savez(folder / "plain.npz", X=inputs, y=LABELS, class_names=np.array(["a", "b", "c"]))
    np.savez_compressed(folder / "packed.npz", X=inputs, y=np.array(["a", "b", "c"])[LABELS])
    frame = pd.DataFrame({"x": inputs[:, 0], "n": np.array(["p", "q", None])[LABELS], "label": LABELS})
    frame.to_csv(folder / "table.csv", index=False)
    frame.to_parquet(folder / "table.parquet")
    np.save(folder / "matrix.npy", np.full((3, 3), 1 / 3))
    np.save(folder / "given.npy", LABELS)
    for name in ("idx", "cifar-10-batches-bin", "cifar-10-batches-py", "photos/a", "photos/b"):
        (folder / name).mkdir(parents=True)
    write_idx(folder / "idx" / "train-images-idx3-ubyte", PICTURES[:, :64].reshape(60, 8, 8))
    write_idx(folder / "idx" / "train-labels-idx1-ubyte.gz", LABELS)
    for name in (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"):
        records = np.hstack([(np.arange(60) % 10)[:, None], PICTURES]).astype(np.uint8)
        records[:20].tofile(folder / "cifar-10-batches-bin" / name)
        batch = {b"data": records[:20, 1:], b"labels": records[:20, 0].tolist()}
        (folder / "cifar-10-batches-py" / name.removesuffix(".bin")).write_bytes(pickle.dumps(batch, 2))
    listed = pd.DataFrame({"path": ["a/1.png", "b/1.jpg", "b/2.webp"], "label": ["x", "y", "y"]})
    listed.to_csv(folder / "photos" / "list.csv", index=False)
    for name in ("a/1.png", "b/1.jpg", "b/2.webp", "a/2.gif", "a/3.bmp", "a/4.tif"):
        Image.fromarray(PICTURES[:1].reshape(32, 32, 3)).save(folder / "photos" / name)
    for name in ("shards", "tars"):
        (folder / name).mkdir()
    frame.to_parquet(folder / "shards" / "1.parquet", index=False, row_group_size=20)
    frame.to_parquet(folder / "shards" / "2.parquet", index=False)
    members = {"1.jpg": "b/1.jpg", "1.cls": b"x", "2.png": "a/1.png", "2.json": b'{"label": "y"}'}
    members |= {"3.bmp": "a/3.bmp", "3.cls": b"y"}
    with tarfile.open(folder / "tars" / "1.tar", "w") as tar:
        for name, content in members.items():
            held = content if isinstance(content, bytes) else (folder / "photos" / content).read_bytes()
            info = tarfile.TarInfo(name)
            info.size = len(held)
            tar.addfile(info, io.BytesIO(held))
    data = DataSet("toys", make_examples(inputs, LABELS))
    run = train(RunSpec("limit-l", epochs=1), data, out=folder / "runs", device="cpu")[0]
    assert run.path is not None
    run.path.rename(folder / "run")
    return folder


def check(data: DataSet) -> None:
    inputs, labels = data.examples.inputs[:], data.examples.labels
    assert np.isfinite(inputs).all()
    assert labels.max() < data.examples.classes


def check_run(folder: Path) -> None:
    run = load_run(folder)
    assert len(run.predict_proba(np.zeros((2, 2), np.float32))) == 2  # NaN, if a weight became huge
    assert len(run.outputs)


def check_noise(kind: str, path: Path) -> None:
    labels = as_noise(f"{kind}:{path}").draw(make_examples(np.zeros((60, 2)), LABELS), 0)
    assert 0 <= labels.min() <= labels.max() < 3


Read = Callable[[Path], None]
READERS: dict[str, tuple[str, Read]] = {  # what is damaged → (what is copied, how it is read)
    "plain.npz": ("plain.npz", lambda path: check(load_data(path))),
    "packed.npz": ("packed.npz", lambda path: check(load_data(path, reading=Reading(keep_unlabelled=True)))),
    "table.csv": ("table.csv", lambda path: check(load_data(path))),
    "table.parquet": ("table.parquet", lambda path: check(load_data(path))),
    "shards/1.parquet": ("shards", lambda path: check(load_data(path, reading=Reading(stream="on")))),
    "shards/2.parquet": ("shards", lambda path: check(load_data(path))),
    "tars/1.tar": ("tars", lambda path: check(load_data(path, reading=Reading(features_side=8)))),
    "matrix.npy": ("matrix.npy", lambda path: check_noise("matrix", path)),
    "given.npy": ("given.npy", lambda path: check_noise("given", path)),
    "idx/train-images-idx3-ubyte": ("idx", lambda path: check(load_data(path))),
    "idx/train-labels-idx1-ubyte.gz": ("idx", lambda path: check(load_data(path))),
    "cifar-10-batches-bin/data_batch_2.bin": (
        "cifar-10-batches-bin",
        lambda path: check(load_data("cifar10", path)),
    ),
    "cifar-10-batches-py/data_batch_2": (
        "cifar-10-batches-py",
        lambda path: check(load_data("cifar10", path)),
    ),
    **{
        f"photos/{name}": ("photos", lambda path: check(load_data(path, reading=Reading(resize=8))))
        for name in ("a/1.png", "b/1.jpg", "b/2.webp", "a/2.gif", "a/3.bmp", "a/4.tif")
    },
    "photos/list.csv": ("photos", lambda path: check(load_data(path / "list.csv"))),
    **{
        f"run/{name}": ("run", check_run)
        for name in ("spec.json", "data.json", "metrics.json", "weights.safetensors", "outputs.parquet")
    },
}


def mutate(content: bytes, draw: Callable[..., Any]) -> bytes:
    """Cut off, or with a few bytes changed, inserted or removed."""
    damaged = bytearray(content)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, max(len(damaged) - 1, 0)))
        kind = draw(st.sampled_from(["change", "change", "insert", "remove", "cut"]))
        if kind == "cut":
            del damaged[place:]
        else:
            new = draw(st.binary(min_size=1, max_size=4)) if kind != "remove" else b""
            damaged[place : place + (0 if kind == "insert" else max(len(new), 1))] = new
    return bytes(damaged)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.filterwarnings("ignore")  # Pillow and pandas warn of damaged files
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_are_refused_or_read(samples: Path, tmp_path: Path, name: str, data: Any) -> None:
    source, read = READERS[name]
    copy = tmp_path / source
    if copy.is_dir():
        shutil.rmtree(copy)
    if (samples / source).is_dir():
        shutil.copytree(samples / source, copy)
    path = tmp_path / name
    path.write_bytes(mutate((samples / name).read_bytes(), data.draw))
    with contextlib.suppress(InputError):
        read(copy)


@pytest.mark.parametrize("name", READERS)
def test_the_undamaged_files_are_read(samples: Path, name: str) -> None:
    source, read = READERS[name]
    read(samples / source)


class Program:
    """A pickle of this calls a function when it is loaded."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch ran",)


def test_pickles_do_not_run(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hostile = np.array([Program()] * 60, dtype=object)
    np.savez(tmp_path / "a.npz", X=np.zeros((60, 2)), y=hostile)
    np.save(tmp_path / "a.npy", hostile)
    (tmp_path / "data_batch_1").write_bytes(pickle.dumps({b"data": hostile, b"labels": Program()}, 2))
    shutil.copytree(samples / "cifar-10-batches-bin", tmp_path / "b" / "cifar-10-batches-bin")
    with zipfile.ZipFile(tmp_path / "b" / "CIFAR-10_human.pt", "w") as archive:
        archive.writestr("x/data.pkl", pickle.dumps({"clean_label": Program()}, 2))
    for read in (
        lambda: load_data("a.npz"),
        lambda: check_noise("given", tmp_path / "a.npy"),
        lambda: check_noise("matrix", tmp_path / "a.npy"),
        lambda: load_data("cifar10", tmp_path),
        lambda: load_data("cifar10n", tmp_path / "b"),
    ):
        with pytest.raises(InputError):
            read()
    assert not (tmp_path / "ran").exists()


def npy(shape: str, values: bytes = b"") -> bytes:
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + values


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def npz(*members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, content in enumerate(members):
            archive.writestr(f"labels_{number}.npy" if number else "X.npy", content)
    return stream.getvalue()


def parquet() -> bytes:
    stream = io.BytesIO()
    pd.DataFrame({"x": np.zeros(2**20)}).to_parquet(stream)
    return stream.getvalue()


POSTSCRIPT = (
    b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n"  # starts Ghostscript in Pillow
)


@pytest.mark.filterwarnings("ignore")  # Pillow warns before it refuses
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.npz", npz(npy("(1099511627776,)"))),
        ("a.npz", npz(npy(f"({2**25},)", bytes(2**25)))),
        ("a.npz", npz(*(npy(f"({2**20},)", bytes(2**20)) for _ in range(32)))),
        ("a.parquet", parquet()),
        ("f/train-images-idx3-ubyte", struct.pack(">BBBB3I", 0, 0, 8, 3, 2**20, 64, 64)),
        (
            "f/train-images-idx3-ubyte.gz",
            gzip.compress(struct.pack(">BBBB1I", 0, 0, 8, 1, 2**25) + bytes(2**25)),
        ),
        ("f/a/1.png", png(10_000, 10_000)),
        ("f/a/1.png", png(60_000, 60_000)),
        ("f/a/1.png", POSTSCRIPT),
    ],
)
def test_files_that_declare_far_more_than_they_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    monkeypatch.setattr(reading, "ALWAYS", 4 * 2**20)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=Path(name).name):
        load_data(tmp_path / Path(name).parts[0])


def unsafe(source: str) -> list[str]:
    """Calls in Python source that load pickles or run text."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        options = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        if name in ("eval", "exec", "__import__") or name.startswith(("joblib.load", "marshal.", "shelve.")):
            found.append(name)
        if name in ("pickle.load", "pickle.loads", "pickle.Unpickler", "pd.read_pickle", "torch.jit.load"):
            found.append(name)
        if options.get("allow_pickle") == "True" or (name == "np.load" and "allow_pickle" not in options):
            found.append(name)
        if name == "torch.load" and options.get("weights_only") != "True":
            found.append(name)
    return found


def test_no_module_loads_pickles_or_runs_text() -> None:
    assert unsafe("torch.load(p); np.load(p); pickle.load(f); eval(t)") == [
        "torch.load",
        "np.load",
        "pickle.load",
        "eval",
    ]
    for path in Path(noiselimit.__file__).parent.rglob("*.py"):
        # Tasks of a cluster, which Ray and submitit pickle, get their data in the same way.
        allowed = ["pickle.loads"] if path.match("integrations/tasks.py") else []
        assert unsafe(path.read_text("utf-8")) == allowed, path

"""Good files of every format, small, from which bad ones are made; one folder for each reader."""

import gzip
import io
import json
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

ROWS = 60
LABELS = np.arange(ROWS) % 3
AUDIT = {"data": "t.csv", "out": "audit-t", "beta": "None", "fast": "False"}
"""Options of an audit that has begun to write."""


def write_samples(folder: Path) -> None:
    """Fill the folder; takes a second or two, since a run is trained."""
    generator = np.random.default_rng(0)
    _write_run(folder / "run", generator)
    _write_tables(folder, generator)
    _write_arrays(folder, generator)
    _write_cifar(folder, generator)
    _write_pictures(folder / "pictures", generator)
    _write_text(folder)


def _write_run(folder: Path, generator: np.random.Generator) -> None:
    import safetensors.torch

    from noiselimit import RunSpec, train
    from noiselimit.networks import Role
    from noiselimit.runs.spec import architecture

    frame = pd.DataFrame({"x": generator.normal(size=ROWS), "kind": ["a", "b", "c"] * (ROWS // 3)})
    spec = RunSpec("limit-l", epochs=2, batch_size=16, network="linear", noise="uniform:0.2")  # type: ignore[arg-type]
    run = train(spec, (frame, LABELS), out=folder.parent / "trained", averaged=True)[0]
    assert run.path is not None
    run.path.rename(folder)
    run.path.parent.rmdir()
    (folder.parent / "initial").mkdir()
    state = architecture(run.spec, Role.CLASSIFIER).build(run.data.input_shape, 3).state_dict()
    safetensors.torch.save_file(state, folder.parent / "initial" / "initial.safetensors")


def _write_tables(folder: Path, generator: np.random.Generator) -> None:
    table = pd.DataFrame(
        {
            "size": generator.normal(size=ROWS).round(3),
            "count": np.arange(ROWS),
            "colour": ["red", "green", None] * (ROWS // 3),
            "label": np.array(["cat", "dog", "owl"])[LABELS],
            "clean_label": np.array(["cat", "dog", "owl"])[LABELS],
        }
    )
    for name in ("csv", "parquet"):
        (folder / name).mkdir()
    table.to_csv(folder / "csv" / "t.csv", index=False)
    table.head(9).to_csv(folder / "csv" / "u.tsv", index=False, sep="\t")
    table.to_parquet(folder / "parquet" / "t.parquet")
    table.astype({"colour": "category"}).set_index("count").to_parquet(folder / "parquet" / "u.parquet")


def idx(array: np.ndarray) -> bytes:
    """The array, of bytes, in MNIST's format."""
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def _write_arrays(folder: Path, generator: np.random.Generator) -> None:
    pictures = generator.integers(0, 256, (ROWS, 4, 4)).astype(np.uint8)
    for name in ("npz", "idx", "labels", "matrix"):
        (folder / name).mkdir()
    arrays = {"inputs": generator.normal(size=(ROWS, 4)), "labels": LABELS, "labels_other": LABELS[::-1]}
    np.savez(folder / "npz" / "a.npz", **arrays, class_names=np.array(["a", "b", "c"]), weights=np.ones(ROWS))
    test = {"X_test": pictures[:6], "y_test": np.array(["x", "y"] * 3)}
    np.savez_compressed(folder / "npz" / "b.npz", X=pictures, y=np.array(["x", "y"] * 30), **test)
    (folder / "idx" / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(pictures)))
    (folder / "idx" / "train-labels-idx1-ubyte").write_bytes(idx(LABELS.astype(np.uint8)))
    (folder / "idx" / "t10k-images-idx3-ubyte").write_bytes(idx(pictures[:6]))
    (folder / "idx" / "t10k-labels-idx1-ubyte.gz").write_bytes(
        gzip.compress(idx(LABELS[:6].astype(np.uint8)))
    )
    np.save(folder / "labels" / "l.npy", LABELS)
    (folder / "labels" / "l.csv").write_text("".join(f'"{"abc"[label]}"\n' for label in LABELS))
    (folder / "labels" / "l.txt").write_text("".join(f"{label}\n" for label in LABELS))
    matrix = np.full((3, 3), 0.25) + 0.25 * np.eye(3)
    np.save(folder / "matrix" / "m.npy", matrix)
    (folder / "matrix" / "m.csv").write_text("\n".join(",".join(map(str, row)) for row in matrix))
    (folder / "matrix" / "m.json").write_text(json.dumps(matrix.tolist()))


def _write_cifar(folder: Path, generator: np.random.Generator) -> None:
    binary, python, human = (folder / name for name in ("cifar-binary", "cifar-python", "cifar10n"))
    for place in (binary, python, human):
        place.mkdir()
    labels = np.tile(np.arange(10), 5).reshape(5, 10).astype(np.uint8)
    for number in range(6):
        pictures = generator.integers(0, 256, (10, 3072)).astype(np.uint8)
        name = "test_batch" if number == 5 else f"data_batch_{number + 1}"
        given = labels[number % 5]
        records = np.concatenate([given[:, None], pictures], 1).tobytes()
        (binary / f"{name}.bin").write_bytes(records)
        (human / f"{name}.bin").write_bytes(records)
        batch = {b"data": pictures, b"labels": given.tolist(), b"batch_label": b"one"}
        (python / name).write_bytes(pickle.dumps(batch, protocol=2 + number % 3))
    names = [f"class {number}" for number in range(10)]
    (binary / "batches.meta.txt").write_text("\n".join(names) + "\n\n")
    (python / "batches.meta").write_bytes(pickle.dumps({"label_names": names}, protocol=2))
    keys = ("clean_label", "aggre_label", "random_label1", "random_label2", "random_label3", "worse_label")
    vectors = {key: labels.ravel().astype(np.int64) for key in keys}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("CIFAR-10_human/data.pkl", pickle.dumps(vectors, protocol=2))
        archive.writestr("CIFAR-10_human/version", "3\n")
    (human / "CIFAR-10_human.pt").write_bytes(buffer.getvalue())
    (folder / "cifar10n-npz").mkdir()
    for path in human.glob("*.bin"):
        (folder / "cifar10n-npz" / path.name).write_bytes(path.read_bytes())
    np.savez_compressed(folder / "cifar10n-npz" / "cifar10n.npz", **vectors)


def _write_pictures(folder: Path, generator: np.random.Generator) -> None:
    for number, ending in enumerate(("png", "jpg", "gif", "bmp", "webp", "tif", "png", "jpeg", "tiff")):
        place = folder / "ab"[number % 2]
        place.mkdir(parents=True, exist_ok=True)
        pixels = generator.integers(0, 256, (12, 16, 3)).astype(np.uint8)
        picture = Image.fromarray(pixels).convert(
            ("RGB", "P", "L", "RGB", "RGBA", "CMYK", "LA", "RGB", "I;16")[number]
        )
        how = {"exif": Image.Exif()} if ending in ("jpeg", "webp") else {}
        how |= {"compression": "tiff_lzw"} if ending == "tif" else {}
        picture.convert("RGB" if ending == "jpg" else picture.mode).save(place / f"{number}.{ending}", **how)


def _write_text(folder: Path) -> None:
    for name in ("toml", "command", "writing"):
        (folder / name).mkdir()
    typed = {"data": "t.npz", "method": "ce,limit-l", "beta": "1,10.5", "network": "mlp", "threads": 1}
    command = {"format": 1, "folder": "/", "options": {**typed, "epochs": "5", "skip_bad_images": False}}
    (folder / "command" / ".command.json").write_text(json.dumps(command, indent=2))
    (folder / "writing" / ".writing.json").write_text(json.dumps(AUDIT))
    (folder / "toml" / "c.toml").write_text(
        'method = "ce,limit-l"\nbeta = [1, 10.5]\nseed = 3\nnoise = "uniform:0.4"\nbatch_size = 32\n'
        'network = "mlp"\noptimiser = "adam"\nlearning-rate = 1e-3\nvalidation-share = 0.25\n'
        "quiet = true\ntrain-size = 30\n"
    )

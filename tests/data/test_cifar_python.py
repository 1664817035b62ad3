"""The python version, written here as Python 2 wrote it, and what is refused in it."""

import os
import pickle
import struct

import numpy as np
import pytest

from noiselimit.data.catalogue import load_data
from noiselimit.errors import InputError

PICTURES = np.random.default_rng(8).integers(0, 256, (20, 3072), dtype=np.uint8)


def python2(value: object) -> bytes:
    """The instructions by which Python 2's pickle, protocol 2, describes a value: strings are bytes."""
    match value:
        case dict():
            items = b"".join(python2(key) + python2(entry) for key, entry in value.items())
            return b"}q\x01(" + items + b"u"
        case list():
            return b"](" + b"".join(map(python2, value)) + b"e"
        case int():
            return b"J" + struct.pack("<i", value)
        case str():
            return b"U" + bytes([len(value)]) + value.encode()
        case np.ndarray():
            shape = b"".join(map(python2, value.shape))
            return (
                b"cnumpy.core.multiarray\n_reconstruct\nq\x02cnumpy\nndarray\nq\x03K\x00\x85U\x01b\x87Rq\x04"
                b"(K\x01(" + shape + b"tcnumpy\ndtype\nq\x05U\x02u1K\x00K\x01\x87Rq\x06"
                b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
                b"T" + struct.pack("<i", value.nbytes) + value.tobytes() + b"tb"
            )
    raise TypeError(type(value))


def write(path, value):
    path.write_bytes(b"\x80\x02" + python2(value) + b".")


def test_the_handwritten_instructions_mean_what_they_should():
    value = {"data": PICTURES[:2], "labels": [1, 300], "name": "x"}
    read = pickle.loads(b"\x80\x02" + python2(value) + b".", encoding="bytes")
    assert np.array_equal(read[b"data"], PICTURES[:2])
    assert read[b"labels"] == [1, 300]


@pytest.fixture
def ten(tmp_path):
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for number in range(5):
        write(folder / f"data_batch_{number + 1}", batch(number))
    write(folder / "test_batch", batch(0))
    return folder


def batch(number: int) -> dict[str, object]:
    return {
        "batch_label": f"training batch {number} of 5",
        "labels": [(row + number) % 10 for row in range(20)],
        "data": np.roll(PICTURES, number, axis=0),
        "filenames": [f"picture_{row}.png" for row in range(20)],
    }


# The published file, all 158 bytes of it.
META = (
    b"\x80\x02}q\x01(U\x13num_cases_per_batchq\x02M\x10'U\x0blabel_namesq\x03]q\x04(U\x08airplaneq\x05"
    b"U\nautomobileq\x06U\x04birdq\x07U\x03catq\x08U\x04deerq\tU\x03dogq\nU\x04frogq\x0bU\x05horseq\x0c"
    b"U\x04shipq\rU\x05truckq\x0eeU\x07num_visq\x0fM\x00\x0cu."
)


@pytest.mark.parametrize("meta", [META, None])
def test_cifar10(tmp_path, ten, meta):
    if meta:
        (ten / "batches.meta").write_bytes(meta)
    data = load_data("cifar10", tmp_path)
    assert len(data.examples) == 100
    assert np.array_equal(data.examples.inputs[:20].reshape(20, -1), PICTURES)
    assert np.array_equal(data.examples.inputs[20:40].reshape(20, -1), np.roll(PICTURES, 1, axis=0))
    assert data.examples.labels[20:24].tolist() == [1, 2, 3, 4]
    assert data.examples.class_names[6] == "frog"
    assert data.test is not None
    assert len(data.test) == 20


def test_names_come_from_the_file(tmp_path, ten):
    (ten / "batches.meta").write_bytes(META.replace(b"frog", b"toad"))
    assert load_data("cifar10", tmp_path).examples.class_names[6] == "toad"


def test_cifar100(tmp_path):
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    pictures = np.tile(PICTURES, (5, 1))
    entries = {"data": pictures, "fine_labels": list(range(99, -1, -1)), "coarse_labels": [0] * 100}
    write(folder / "train", entries)
    write(folder / "test", entries)
    names = [f"name {number}" for number in range(100)]
    write(folder / "meta", {"fine_label_names": names, "coarse_label_names": ["coarse"] * 20})
    data = load_data("cifar100", tmp_path)
    assert data.examples.labels[:3].tolist() == [99, 98, 97]
    assert data.examples.class_names[42] == "name 42"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"data": PICTURES[:, :3071]}, r"data_batch_2: 'data' is no uint8 array of shape \[n, 3072\]"),
        ({"data": [1]}, "data_batch_2: 'data' is no uint8 array"),
        ({"labels": [0] * 19}, "data_batch_2: 'labels' is no list of 20 labels"),
        ({"labels": "cat"}, "data_batch_2: 'labels' is no list"),
        ({"labels": [0] * 18 + [10, 0]}, "data_batch_2: record 18 has label 10 but labels go from 0 to 9"),
        ({"labels": [0] * 19 + [-1]}, "data_batch_2: record 19 has a label that is no class"),
        ({"labels": ["cat"] * 20}, "data_batch_2: record 0 has a label that is no class"),
    ],
)
def test_bad_batches(tmp_path, ten, change, sentence):
    write(ten / "data_batch_2", batch(1) | change)
    with pytest.raises(InputError, match=sentence):
        load_data("cifar10", tmp_path)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [([1], "is no dictionary"), ({"labels": [1]}, "there is no 'data' in this pickle")],
)
def test_other_pickles(tmp_path, ten, value, sentence):
    write(ten / "data_batch_2", value)
    with pytest.raises(InputError, match=f"data_batch_2: .*{sentence}"):
        load_data("cifar10", tmp_path)


@pytest.mark.parametrize("value", [[1], {"label_names": "cat"}, {}, {"label_names": ["cat"]}])
def test_other_names(tmp_path, ten, value):
    write(ten / "batches.meta", value)
    with pytest.raises(InputError, match=r"batches\.meta: "):
        load_data("cifar10", tmp_path)


class Runs:
    def __reduce__(self):
        return os.system, ("touch marker",)


@pytest.mark.parametrize("name", ["data_batch_1", "test_batch", "batches.meta"])
def test_a_foreign_object_is_refused_and_nothing_runs(tmp_path, monkeypatch, ten, name):
    monkeypatch.chdir(tmp_path)
    hostile = {b"data": PICTURES, b"labels": [0] * 20, b"label_names": [], b"more": Runs()}
    (ten / name).write_bytes(pickle.dumps(hostile, 2))
    with pytest.raises(InputError, match=rf"{name}: refused because it holds the name .*\.system"):
        load_data("cifar10", tmp_path)
    assert not (tmp_path / "marker").exists()

"""CIFAR-10 and CIFAR-100 in both versions, with what can be wrong in their files."""

import os
import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from noiselimit.data import cifar as cifar_names
from noiselimit.data.catalogue import load_data
from noiselimit.data.cifar import ARCHIVES, CIFAR10, CIFAR100, find_version, read_cifar
from noiselimit.data.download import has_digest
from noiselimit.errors import InputError

LABELS_100 = (np.arange(240) * 7 % 100).astype(np.uint8)  # 200 to train on, 40 to test


@pytest.fixture
def ten(tmp_path, write_cifar10):
    folder = tmp_path / "cifar-10-batches-bin"
    return folder, *write_cifar10(folder)


@pytest.fixture
def hundred(tmp_path):
    folder = tmp_path / "cifar-100-binary"
    folder.mkdir()
    pictures = np.random.default_rng(6).integers(0, 256, (240, 3, 32, 32), dtype=np.uint8)
    for name, rows in (("train.bin", range(200)), ("test.bin", range(200, 240))):
        records = [bytes([19, LABELS_100[row]]) + pictures[row].tobytes() for row in rows]
        (folder / name).write_bytes(b"".join(records))
    (folder / "fine_label_names.txt").write_text(
        "\n".join(f"class {number}" for number in range(100)) + "\n\n"
    )
    return folder, pictures


@pytest.mark.parametrize("below", [".", "cifar10"])
def test_cifar10_is_read_in_order(tmp_path, write_cifar10, below):
    pictures, labels = write_cifar10(tmp_path / below / "cifar-10-batches-bin")
    data = load_data("cifar10", tmp_path)
    assert data.name == "cifar10"
    assert data.examples.inputs.dtype == np.uint8
    assert np.array_equal(data.examples.inputs, pictures)
    assert np.array_equal(data.examples.labels, labels)
    assert data.test is not None
    assert data.test.labels.tolist() == [row * 7 % 10 for row in range(60, 72)]
    assert data.examples.class_names == cifar_names.CIFAR10
    assert data.examples.label_sets == {}
    assert data.defaults == {"network": "resnet-34", "augmentation": "flip-crop"}


def test_cifar100_has_fine_labels_and_the_names_in_its_file(tmp_path, hundred):
    _, pictures = hundred
    data = load_data("cifar100", tmp_path)
    assert data.name == "cifar100"
    assert np.array_equal(data.examples.inputs, pictures[:200])
    assert np.array_equal(data.examples.labels, LABELS_100[:200])
    assert data.test is not None
    assert np.array_equal(data.test.labels, LABELS_100[200:])
    assert data.examples.class_names[99] == "class 99"


def test_names_are_the_published_ones_where_their_file_is_missing(tmp_path, hundred):
    (hundred[0] / "fine_label_names.txt").unlink()
    names = load_data("cifar100", tmp_path).examples.class_names
    assert len(set(names)) == 100
    assert list(names) == sorted(names)
    assert names[19] == "cattle"


def test_files_in_the_folder_itself(ten):
    found = find_version(CIFAR10, ten[0])
    assert found is not None
    assert found[1] == ten[0]
    assert len(read_cifar(CIFAR10, ten[0]).examples) == 60


def test_a_folder_without_any(tmp_path):
    assert find_version(CIFAR100, tmp_path) is None
    with pytest.raises(InputError, match=r"there is no train\.bin of cifar100 here"):
        read_cifar(CIFAR100, tmp_path)
    with pytest.raises(InputError, match=r"^cifar100: its files are neither in .*--download"):
        load_data("cifar100", tmp_path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (lambda good: good[:-1], r"data_batch_3\.bin: record 11 has 3072 bytes instead of 3073"),
        (lambda good: good + b"x", r"data_batch_3\.bin: record 12 has 1 bytes instead of 3073"),
        (lambda good: b"", r"data_batch_3\.bin: record 0 has 0 bytes"),
        (
            lambda good: good[:3073] + b"\x0a" + good[3074:],
            r"data_batch_3\.bin: record 1 has label 10 but .* to 9;",
        ),
        (None, r"data_batch_3\.bin: cannot be read \(No such file or directory\); fetch the file again"),
    ],
)
def test_bad_records_are_named(tmp_path, ten, content, sentence):
    path = ten[0] / "data_batch_3.bin"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content(path.read_bytes()))
    with pytest.raises(InputError, match=sentence):
        load_data("cifar10", tmp_path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"cat\ndog\n", r"batches\.meta\.txt: there are 2 class names instead of 10"),
        (b"\xff\xfe\x00", r"batches\.meta\.txt: cannot be read \(it is no text\)"),
        (b"cat\n" * 10, "class_names has 'cat' twice"),
    ],
)
def test_bad_names(tmp_path, ten, content, sentence):
    (ten[0] / "batches.meta.txt").write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        load_data("cifar10", tmp_path)


def test_reading_all_of_cifar10_takes_less_than_half_a_gigabyte(tmp_path):
    record = np.arange(3073, dtype=np.uint64).astype(np.uint8)
    records = np.tile(record, (10_000, 1))
    records[:, 0] = np.arange(10_000) % 10
    for name in (*CIFAR10.binary.train, CIFAR10.binary.test):
        records.tofile(tmp_path / name)
    del records
    tracemalloc.start()
    try:
        data = load_data("cifar10", tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert data.examples.inputs.nbytes == 50_000 * 3072
    assert data.examples.inputs.nbytes < peak < 500e6


def stored(name: str) -> Path:
    folder = Path(os.environ.get("NOISELIMIT_DATA", "data"))
    if not (folder / name).is_dir():
        pytest.skip(f"{name} is absent: set NOISELIMIT_DATA to the folder that has it")
    return folder


def test_the_real_cifar10():
    data = load_data("cifar10", stored("cifar-10-batches-bin"))
    assert np.bincount(data.examples.labels).tolist() == [5000] * 10
    assert data.examples.labels[:10].tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
    assert data.examples.inputs.mean(axis=(0, 2, 3)) / 255 == pytest.approx(
        [0.4914, 0.4822, 0.4465], abs=1e-4
    )
    assert data.test is not None
    assert np.bincount(data.test.labels).tolist() == [1000] * 10


def test_the_real_cifar10_has_the_known_digests():
    folder = stored("cifar-10-batches-bin") / "cifar-10-batches-bin"
    for name, digest in ARCHIVES["cifar10"].digests.items():
        assert has_digest(folder / name, digest, 2**28), name


def test_the_real_cifar100():
    data = load_data("cifar100", stored("cifar-100-binary"))
    assert data.examples.class_names == cifar_names.CIFAR100
    assert np.bincount(data.examples.labels).tolist() == [500] * 100


def test_versions_have_one_fingerprint(tmp_path, ten):
    folder = tmp_path / "other" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for name in (*CIFAR10.binary.train, CIFAR10.binary.test):
        pictures, labels = CIFAR10.binary.read(ten[0] / name)
        batch = {b"data": pictures.reshape(-1, 3072), b"labels": labels.tolist()}
        (folder / name.removesuffix(".bin")).write_bytes(pickle.dumps(batch, 2))
    assert load_data("cifar10", folder).fingerprint == load_data("cifar10", tmp_path).fingerprint

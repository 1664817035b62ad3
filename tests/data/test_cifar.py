"""CIFAR-10 and CIFAR-100 in both versions, CIFAR-10N, and what can be wrong in their files."""

import hashlib
import os
import pickle
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from noiselimit.data import cifar as module
from noiselimit.data.catalogue import load_data
from noiselimit.data.cifar import CIFAR10, download_cifar, download_cifar10n, holds_cifar10n
from noiselimit.errors import InputError

PICTURES = np.random.default_rng(8).integers(0, 256, (20, 3072), dtype=np.uint8)


@pytest.fixture
def ten(tmp_path, write_cifar10):
    """The binary version of a small CIFAR-10."""
    write_cifar10(tmp_path / "cifar-10-batches-bin")
    return tmp_path / "cifar-10-batches-bin"


@pytest.mark.parametrize("below", [".", "cifar10", "cifar-10-batches-bin"])
def test_cifar10(tmp_path, write_cifar10, below):
    pictures, labels = write_cifar10(
        tmp_path / below / ("." if below.endswith("bin") else "cifar-10-batches-bin")
    )
    data = load_data("cifar10", tmp_path)
    assert data.name == "cifar10"
    assert data.examples.inputs.dtype == np.uint8
    assert np.array_equal(data.examples.inputs, pictures)
    assert np.array_equal(data.examples.labels, labels)
    assert data.test is not None
    assert data.test.labels.tolist() == [row * 7 % 10 for row in range(60, 72)]
    assert data.examples.class_names[6] == "frog"
    assert data.defaults == {"network": "resnet-34", "augmentation": "flip-crop"}


def test_cifar100_has_fine_labels(tmp_path):
    labels = (np.arange(240) * 7 % 100).astype(np.uint8)
    pictures = np.random.default_rng(6).integers(0, 256, (240, 3, 32, 32), dtype=np.uint8)
    for name, rows in (("train.bin", range(200)), ("test.bin", range(200, 240))):
        records = [bytes([19, labels[row]]) + pictures[row].tobytes() for row in rows]
        (tmp_path / name).write_bytes(b"".join(records))
    data = load_data("cifar100", tmp_path)
    names = data.examples.class_names
    assert len(set(names)) == 100
    assert (list(names), names[19]) == (sorted(names), "cattle")
    assert np.array_equal(data.examples.inputs, pictures[:200])
    assert np.array_equal(data.examples.labels, labels[:200])
    assert data.test is not None
    assert np.array_equal(data.test.labels, labels[200:])


@pytest.mark.parametrize(
    "content",
    [
        lambda good: good[:-1],
        lambda good: b"",
        lambda good: good[:3073] + b"\x0a" + good[3074:],
        None,
    ],
)
def test_bad_binary_files_are_named(tmp_path, ten, content):
    path = ten / "data_batch_3.bin"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content(path.read_bytes()))
    with pytest.raises(InputError, match=r"data_batch_3\.bin: "):
        load_data("cifar10", tmp_path)


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


def batch(number: int) -> dict[str, object]:
    return {
        "batch_label": f"training batch {number} of 5",
        "labels": [(row + number) % 10 for row in range(20)],
        "data": np.roll(PICTURES, number, axis=0),
    }


@pytest.fixture
def python_ten(tmp_path):
    """The python version of a small CIFAR-10, as Python 2 wrote it."""
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for number in range(5):
        write(folder / f"data_batch_{number + 1}", batch(number))
    write(folder / "test_batch", batch(0))
    return folder


def test_both_versions_have_the_same_fingerprint(tmp_path, ten):
    folder = tmp_path / "other" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for path in ten.glob("*.bin"):
        records = np.fromfile(path, np.uint8).reshape(-1, 3073)
        write(folder / path.stem, {"data": records[:, 1:], "labels": records[:, 0].tolist()})
    assert load_data("cifar10", folder).fingerprint == load_data("cifar10", tmp_path).fingerprint
    download_cifar(CIFAR10, folder)  # nothing is missing


@pytest.mark.parametrize(
    "value",
    [
        [1],
        {"labels": [1]},
        batch(1) | {"data": PICTURES[:, :3071]},
        batch(1) | {"labels": [0] * 19},
        batch(1) | {"labels": [0] * 18 + [10, 0]},
        batch(1) | {"labels": [0] * 19 + [-1]},
        batch(1) | {"labels": ["cat"] * 20},
    ],
)
def test_bad_batches_are_named(tmp_path, python_ten, value):
    write(python_ten / "data_batch_2", value)
    with pytest.raises(InputError, match="data_batch_2: "):
        load_data("cifar10", tmp_path)


KEYS = ("aggre_label", "random_label1", "random_label2", "random_label3", "worse_label")


def write_npz(folder, labels):
    np.savez(folder / "cifar10n.npz", **labels)


def write_pt(folder, labels, name="CIFAR-10_human/data.pkl"):
    """What torch.save makes of a dictionary of NumPy arrays."""
    with zipfile.ZipFile(folder / "CIFAR-10_human.pt", "w") as archive:
        archive.writestr(name, pickle.dumps(labels, 2))
        archive.writestr("CIFAR-10_human/version", "3\n")


@pytest.fixture
def human(ten):
    """The folder of CIFAR-10N beside CIFAR-10, still empty, and labels for it."""
    folder = ten.parent / "cifar-10n"
    folder.mkdir()
    clean = load_data("cifar10", ten.parent).examples.labels
    given = {key: (clean + number) % 10 for number, key in enumerate(KEYS)}
    return folder, {"clean_label": clean, **given}


@pytest.mark.parametrize("write", [write_npz, write_pt])
def test_cifar10n(human, write):
    folder, labels = human
    write(folder, labels)
    data, plain = load_data("cifar10n", folder.parent), load_data("cifar10", folder.parent)
    assert data.name == "cifar10n"
    assert list(data.examples.label_sets) == ["aggre", "rand1", "rand2", "rand3", "worst"]
    for number, given in enumerate(data.examples.label_sets.values()):
        assert np.array_equal(given, (data.examples.labels + number) % 10)
    assert np.array_equal(data.examples.inputs, plain.examples.inputs)
    assert data.fingerprint != plain.fingerprint


@pytest.mark.parametrize("pictures", ["cifar10n", "cifar10", "."])
def test_cifar10_is_found_in_the_folder_or_beside_it(tmp_path, write_cifar10, pictures):
    _, clean = write_cifar10(tmp_path / pictures / "cifar-10-batches-bin")
    (tmp_path / "cifar10n").mkdir(exist_ok=True)
    assert not holds_cifar10n(tmp_path / "cifar10n")
    write_npz(tmp_path / "cifar10n", {"clean_label": clean, **dict.fromkeys(KEYS, clean)})
    assert holds_cifar10n(tmp_path / "cifar10n")
    assert len(load_data("cifar10n", tmp_path).examples) == 60


@pytest.mark.parametrize("write", [write_npz, write_pt])
@pytest.mark.parametrize(
    "change",
    [
        lambda labels: labels | {"clean_label": labels["clean_label"][::-1]},
        lambda labels: labels | {"worse_label": labels["worse_label"] + 1},
        lambda labels: labels | {"worse_label": labels["worse_label"][1:]},
        lambda labels: {key: labels[key] for key in KEYS},
    ],
)
def test_labels_that_do_not_fit(human, write, change):
    folder, labels = human
    write(folder, change(labels))
    with pytest.raises(InputError, match=r"cifar10n.npz|CIFAR-10_human.pt"):
        load_data("cifar10n", folder.parent)


def test_files_that_are_not_label_files(human):
    folder, labels = human
    write_pt(folder, labels, name="else")
    with pytest.raises(InputError, match=r"CIFAR-10_human.pt"):
        load_data("cifar10n", folder.parent)
    write_pt(folder, [1])
    with pytest.raises(InputError, match="dictionary"):
        load_data("cifar10n", folder.parent)


@pytest.fixture
def official(file_server, tmp_path, monkeypatch, write_cifar10, tar_gz):
    """The small CIFAR-10 as an archive on a server, whose digests count as the published ones."""
    write_cifar10(tmp_path / "source")
    files = {path.name: path.read_bytes() for path in (tmp_path / "source").iterdir()}
    members = {f"cifar-10-batches-bin/{name}": content for name, content in files.items()}
    archive = tar_gz(members | {"../evil": b""})
    (file_server.folder / CIFAR10.archive.name).write_bytes(archive)
    stand_in = replace(CIFAR10.archive, mirrors=(file_server.url,), digest=hashlib.md5(archive).hexdigest())
    digests = {name: hashlib.md5(content).hexdigest() for name, content in files.items()}
    # CIFAR10 is frozen, and the catalogue refers to it.
    for name, value in (("archive", stand_in), ("digests", digests)):
        monkeypatch.setitem(CIFAR10.__dict__, name, value)
    return file_server


def test_cifar10_is_downloaded_once_and_again_when_damaged(official, tmp_path):
    data = load_data("cifar10", tmp_path / "data", download=True)
    assert len(data.examples) == 60
    folder = tmp_path / "data" / "cifar10" / "cifar-10-batches-bin"
    assert len(list(folder.iterdir())) == 6
    assert not list((tmp_path / "data").rglob("evil"))
    load_data("cifar10", tmp_path / "data", download=True)
    assert official.asked == ["/cifar-10-binary.tar.gz"]
    (folder / "data_batch_4.bin").write_bytes(b"half")
    assert load_data("cifar10", tmp_path / "data", download=True).fingerprint == data.fingerprint
    assert len(official.asked) == 2


def test_cifar10n_downloads_its_labels_and_cifar10_only_if_missing(official, tmp_path, monkeypatch):
    (official.folder / "CIFAR-10_human.pt").write_bytes(b"labels")
    digest = hashlib.sha256(b"labels").hexdigest()
    file = replace(module.CIFAR10N_FILE, mirrors=(official.url,), digest=digest)
    monkeypatch.setattr(module, "CIFAR10N_FILE", file)
    for _ in range(2):
        download_cifar10n(tmp_path / "cifar10n")
    assert official.asked == ["/CIFAR-10_human.pt", "/cifar-10-binary.tar.gz"]
    assert holds_cifar10n(tmp_path / "cifar10n")


def stored() -> Path:
    folder = Path(os.environ.get("NOISELIMIT_DATA", "data"))
    if not holds_cifar10n(folder):
        pytest.skip("CIFAR-10N is absent: set NOISELIMIT_DATA to the folder that has it")
    return folder


def test_the_real_labels_have_the_published_noise_rates():
    examples = load_data("cifar10n", stored()).examples
    assert np.bincount(examples.labels).tolist() == [5000] * 10
    rates = {name: float((given != examples.labels).mean()) for name, given in examples.label_sets.items()}
    published = {"aggre": 0.0903, "rand1": 0.1723, "rand2": 0.1812, "rand3": 0.1764, "worst": 0.4021}
    assert rates == pytest.approx(published, abs=5e-4)

"""The idx format, MNIST and its download, and scikit-learn's digits."""

import gzip
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_digits

from noiselimit.data import mnist as module
from noiselimit.data.mnist import digits, download_mnist, read_idx, read_idx_folder
from noiselimit.errors import InputError

ARRAYS = st.sampled_from(["u1", "i1", "i2", "i4", "f4", "f8"]).flatmap(
    lambda dtype: hnp.arrays(
        np.dtype(dtype), hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4)
    )
)
NAMES = [f"{part}-idx{dimensions}-ubyte.gz" for part, dimensions in module.FILES]


def test_digits():
    data = digits()
    assert (data.name, data.test) == ("digits", None)
    assert (data.examples.inputs.shape, data.examples.inputs.dtype) == ((1797, 1, 8, 8), np.uint8)
    assert np.array_equal(data.examples.inputs.reshape(1797, 64), load_digits().data)
    assert np.array_equal(data.examples.labels, load_digits().target)


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("idx") / "file-idx3-ubyte"


@given(array=ARRAYS, compress=st.booleans())
def test_round_trip(idx_bytes, file, array, compress):
    content = idx_bytes(array)
    file.write_bytes(gzip.compress(content) if compress else content)
    again = read_idx(file)
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    assert again.tobytes() == array.tobytes()


@given(array=ARRAYS, compress=st.booleans(), data=st.data())
def test_every_truncation_is_noticed(idx_bytes, file, array, compress, data):
    content = gzip.compress(idx_bytes(array)) if compress else idx_bytes(array)
    file.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(InputError, match=file.name):
        read_idx(file)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\0\x08\0",
        b"\0\0\x07\1\0\0\0\1\0",
        b"\0\0\x08\1\0\0\0\2\5",
        b"\0\0\x08\1\0\0\0\1\5\6",
        b"\0\0\x08\3" + b"\xff" * 12,
        b"\0\0\x08\4\0\0\0\0" + b"\xff" * 12,
    ],
)
def test_what_is_not_an_idx_file(tmp_path, content):
    path = tmp_path / "broken"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"^{path}: "):
        read_idx(path)
    with pytest.raises(InputError, match="absent"):
        read_idx(tmp_path / "absent")


def test_a_folder_with_both_parts(tmp_path, write_idx_folder):
    images, labels = write_idx_folder(tmp_path / "shapes")
    data = read_idx_folder(tmp_path / "shapes")
    assert data.name == "shapes"
    assert np.array_equal(data.examples.inputs, images[:, np.newaxis])
    assert np.array_equal(data.examples.labels, labels)
    assert data.test is not None
    assert np.array_equal(data.test.inputs, images[:6, np.newaxis])


def test_dotted_names_and_no_test_part(tmp_path, write_idx_folder):
    write_idx_folder(tmp_path)
    for path in tmp_path.iterdir():
        if path.name.startswith("t10k"):
            path.unlink()
        else:
            path.rename(path.with_name(path.name.replace("-idx", ".idx")))
    data = read_idx_folder(tmp_path)
    assert (len(data.examples), data.test) == (12, None)


@pytest.mark.parametrize(
    "removed", ["train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte"]
)
def test_a_missing_file_is_named(tmp_path, write_idx_folder, removed):
    write_idx_folder(tmp_path)
    (tmp_path / removed).unlink()
    with pytest.raises(InputError, match=removed.removesuffix(".gz")):
        read_idx_folder(tmp_path)


@pytest.fixture
def mirror(file_server, monkeypatch):
    """A server with small stand-ins whose digests count as MNIST's."""
    digests = {}
    for key, name in zip(module.FILES, NAMES, strict=True):
        content = name.encode() * 100
        (file_server.folder / name).write_bytes(gzip.compress(content))
        digests[key] = hashlib.sha256(content).hexdigest()
    monkeypatch.setattr(module, "FILES", digests)
    return file_server


def test_only_missing_and_damaged_files_are_downloaded(mirror, tmp_path):
    folder = tmp_path / "new" / "mnist"
    download_mnist(folder, [mirror.url])
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        name: (mirror.folder / name).read_bytes() for name in NAMES
    }
    (folder / NAMES[1].removesuffix(".gz")).write_bytes(gzip.decompress((folder / NAMES[1]).read_bytes()))
    (folder / NAMES[1]).unlink()
    (folder / NAMES[2]).write_bytes(b"half")
    mirror.asked.clear()
    download_mnist(folder, [mirror.url])
    assert mirror.asked == [f"/{NAMES[2]}"]


def test_the_real_mnist():
    folder = Path(os.environ.get("NOISELIMIT_DATA", "data")) / "mnist"
    if not folder.is_dir():
        pytest.skip("MNIST is absent: set NOISELIMIT_DATA to the folder that has it")
    download_mnist(folder, mirrors=[])  # every file has its digest
    data = read_idx_folder(folder)
    assert data.examples.inputs.shape == (60000, 1, 28, 28)
    assert data.examples.labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert data.test is not None
    assert data.test.labels[:5].tolist() == [7, 2, 1, 0, 4]

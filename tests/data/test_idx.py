"""The idx reader gives back what was written, or a sentence; never anything else."""

import gzip
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from noiselimit.data.mnist import read_idx, read_idx_folder
from noiselimit.errors import InputError

ARRAYS = st.sampled_from(["u1", "i1", "i2", "i4", "f4", "f8"]).flatmap(
    lambda dtype: hnp.arrays(
        np.dtype(dtype), hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4)
    )
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("idx") / "file-idx3-ubyte"


@given(array=ARRAYS, compress=st.booleans())
def test_round_trip(idx_bytes, file, array, compress):
    content = idx_bytes(array)
    file.write_bytes(gzip.compress(content) if compress else content)
    again = read_idx(file)
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert again.tobytes() == array.tobytes()


@given(array=ARRAYS, compress=st.booleans(), data=st.data())
def test_every_truncation_is_noticed(idx_bytes, file, array, compress, data):
    content = idx_bytes(array)
    content = gzip.compress(content) if compress else content
    file.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(InputError, match=r"not an idx file|cut off"):
        read_idx(file)


@given(array=ARRAYS, data=st.data())
def test_a_changed_byte_is_refused_or_read_as_it_stands(idx_bytes, file, array, data):
    content = bytearray(idx_bytes(array))
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    file.write_bytes(content)
    try:
        again = read_idx(file)
    except InputError:
        return
    assert idx_bytes(again) == content


@given(array=ARRAYS, data=st.data())
def test_a_changed_byte_in_a_compressed_file_is_noticed(idx_bytes, file, array, data):
    content = bytearray(gzip.compress(idx_bytes(array)))
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content)
    try:
        again = read_idx(file)
    except InputError:
        return
    assert idx_bytes(again) == idx_bytes(array)  # gzip's own header has bytes that change nothing


@given(st.binary(max_size=40))
def test_arbitrary_bytes_never_crash(idx_bytes, file, content):
    file.write_bytes(content)
    try:
        again = read_idx(file)
    except InputError:
        return
    assert idx_bytes(again) == content


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "this is not an idx file; name one"),
        (b"\0\0\x08\0", "this is not an idx file"),
        (b"\0\0\x07\1\0\0\0\1\0", "this is not an idx file"),
        (b"\0\0\x08\x21" + b"\0\0\0\1" * 33 + b"\0", "this is not an idx file"),
        (b"\0\0\x08\1\0\0\0\2\5", "the file is cut off before its end; fetch it again"),
        (b"\0\0\x08\1\0\0\0\1\5\6", r"bytes follow after the array of shape \[1\]; fetch the file again"),
        (b"\0\0\x08\3" + b"\xff" * 12, r"declares an array of shape \[4294967295, .*\], over 8 GiB; split"),
        (b"\0\0\x08\4\0\0\0\0" + b"\xff" * 12, "over 8 GiB"),
    ],
)
def test_sentences(tmp_path, content, sentence, compress):
    path = tmp_path / "broken"
    path.write_bytes(gzip.compress(content) if compress else content)
    with pytest.raises(InputError, match=f"^{path}: .*{sentence}"):
        read_idx(path)


@pytest.mark.parametrize(
    ("declared", "content", "sentence"),
    [
        (2**32 - 1, b"\1", "bytes would become"),
        (2**20, b"\1", "cut off"),
        (3, bytes(2**26), "bytes follow after"),
    ],
)
def test_neither_a_lying_header_nor_a_bomb_takes_memory(tmp_path, declared, content, sentence):
    path = tmp_path / "broken.gz"
    path.write_bytes(gzip.compress(struct.pack(">BBBBI", 0, 0, 8, 1, declared) + content))
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=sentence):
            read_idx(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**24


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(InputError, match=r"absent: cannot be read \(No such file or directory\); name"):
        read_idx(tmp_path / "absent")
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\)"):
        read_idx(tmp_path)


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
    assert len(data.examples) == 12
    assert data.test is None


@pytest.mark.parametrize(
    ("removed", "named"),
    [
        ("train-images-idx3-ubyte.gz", "train-images-idx3-ubyte"),
        ("train-labels-idx1-ubyte.gz", "train-labels-idx1-ubyte"),
        ("t10k-labels-idx1-ubyte", "t10k-labels-idx1-ubyte"),
    ],
)
def test_an_absent_file_is_named(tmp_path, write_idx_folder, removed, named):
    write_idx_folder(tmp_path)
    (tmp_path / removed).unlink()
    with pytest.raises(InputError, match=f"^{tmp_path}: there is no file {named} or .*; name a folder"):
        read_idx_folder(tmp_path)


def test_labels_that_do_not_match_the_images(tmp_path, write_idx_folder, idx_bytes):
    write_idx_folder(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx_bytes(np.zeros(4, np.uint8)))
    with pytest.raises(InputError, match=r"t10k-\*: there are 6 inputs but 4 labels"):
        read_idx_folder(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx_bytes(np.full(6, 3, np.uint8)))
    with pytest.raises(InputError, match=r"t10k-\*: label in row 0 is 3, which is none of the 3 classes"):
        read_idx_folder(tmp_path)

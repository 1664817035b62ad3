"""Pictures in files behind an array's words."""

import os
import pickle

import numpy as np
import pytest
from PIL import Image

from noiselimit.data import pictures
from noiselimit.data.arrays import LazyInputs, View
from noiselimit.data.pictures import Cut, Paths, PictureFiles, file_sizes, for_each
from noiselimit.errors import InputError

CUT = Cut(4, 4, 6)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Five pictures, each of one shade."""
    folder = tmp_path_factory.mktemp("pictures")
    for row in range(5):
        Image.new("RGB", (9, 6 + row), (40 * row,) * 3).save(folder / f"{row}.png")
    return PictureFiles(folder, Paths(f"{row}.png" for row in range(5)), CUT)


def test_they_index_as_an_array_does(files):
    assert files.shape == (5, 3, 4, 4)
    assert len(files) == 5
    assert files[2].shape == (3, 4, 4)
    assert files[1:3].shape == (2, 3, 4, 4)
    assert files[np.array([4, 0])][:, 0, 0, 0].tolist() == [160, 0]
    assert files[np.array([True, False, False, True, False])][:, 0, 0, 0].tolist() == [0, 120]


def test_some_of_them_alone(files):
    for taken in (files.take([3, 1, 3]), LazyInputs.take(files, [3, 1, 3])):
        assert taken.shape == (3, 3, 4, 4)
        again = pickle.loads(pickle.dumps(taken))
        assert [int(again.read(row, View(True))[0, 0, 0]) for row in range(3)] == [120, 40, 120]
        assert taken.digest != files.digest


def test_what_is_sent_of_a_few_is_small(files):
    many = PictureFiles(files.folder, Paths(f"{row:09}.jpg" for row in range(100_000)), CUT)
    assert len(pickle.dumps(many.take(range(10)))) < 2000


def test_the_digest_knows_names_sizes_and_cut_but_not_the_folder(files, tmp_path):
    for row in range(5):
        os.link(files.folder / f"{row}.png", tmp_path / f"{row}.png")
    moved = PictureFiles(tmp_path, files.paths, CUT)
    assert moved.digest == files.digest
    others = [
        PictureFiles(tmp_path, files.paths, Cut(4, 4, 5)),
        PictureFiles(tmp_path, files.paths, Cut(4, 4, 6, channels=1)),
        PictureFiles(tmp_path, files.paths, Cut(5, 4, 6)),
        files.take([1, 0, 2, 3, 4]),
        files.take([0, 1, 2, 3]),
    ]
    (tmp_path / "2.png").unlink()
    (tmp_path / "2.png").write_bytes(b"longer")
    others.append(PictureFiles(tmp_path, files.paths, CUT))
    assert len({one.digest for one in [files, *others]}) == 7


def test_sizes(files, tmp_path):
    (tmp_path / "a").write_bytes(b"123")
    assert file_sizes(tmp_path, Paths(["b", "a", ""])).tolist()[:2] == [-1, 3]


def test_every_number_is_done_once(monkeypatch):
    monkeypatch.setattr(pictures, "PIECE", 3)
    done = []
    for_each(done.append, 20)
    assert sorted(done) == list(range(20))
    for_each(done.append, 0)


def test_the_first_failure_is_the_one_raised(monkeypatch):
    monkeypatch.setattr(pictures, "PIECE", 1)

    def fail(row):
        if row >= 5:
            raise InputError(str(row))

    with pytest.raises(InputError, match=r"^5$"):
        for_each(fail, 50)

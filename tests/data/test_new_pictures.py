"""Pictures without classes, for a run that knows what it expects."""

import numpy as np
import pytest
from PIL import Image

from noiselimit.data import image_folder
from noiselimit.data.catalogue import load_unlabelled
from noiselimit.data.pictures import Cut, read_picture
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError


def write(path, shade=0, size=(8, 8), mode="L"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size, shade).convert(mode).save(path)


def shades(found):
    return found.inputs[:][:, 0, 4, 4].tolist()


def test_any_nesting_and_no_classes(tmp_path):
    for shade, name in enumerate(["a.png", "b/c.PNG", "b/d/e/f.bmp"]):
        write(tmp_path / name, shade)
    write(tmp_path / ".hidden" / "x.png")
    (tmp_path / "notes.txt").touch()
    found = load_unlabelled(tmp_path, shape=(1, 8, 8))
    assert list(found.names) == ["a.png", "b/c.PNG", "b/d/e/f.bmp"]
    assert shades(found) == [0, 1, 2]
    assert found.notes == ()


def test_one_picture(tmp_path):
    write(tmp_path / "b.JPG", 40)
    write(tmp_path / "a.png")
    found = load_unlabelled(tmp_path / "b.JPG", shape=(3, 8, 8))
    assert (found.inputs.shape, list(found.names)) == ((1, 3, 8, 8), ["b.JPG"])
    with pytest.raises(InputError, match="a picture has no test part; leave out --test"):
        load_unlabelled(tmp_path / "b.JPG", shape=(3, 8, 8), test=True)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("resize", [None, 8, 10])
def test_size_and_channels_follow_the_run(tmp_path, channels, resize):
    pixels = np.random.default_rng(0).integers(0, 256, (30, 20, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    write(tmp_path / "b.png", 9)
    found = load_unlabelled(tmp_path, shape=(channels, 8, 8), resize=resize)
    expected = read_picture(bytes(tmp_path / "a.png"), Cut(8, 8, resize or 8, channels))
    assert np.array_equal(found.inputs[0], expected)
    assert (found.inputs[1] == 9).all()
    notes = [f"{tmp_path}: 1 of 2 pictures do not have the 8 × 8 pixels"] if resize is None else []
    assert [note[: len(start)] for note, start in zip(found.notes, notes, strict=True)] == notes


def test_pictures_of_the_right_size_are_not_touched(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 8), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    found = load_unlabelled(tmp_path, shape=(1, 5, 8))
    assert np.array_equal(found.inputs[0, 0], pixels)
    write(tmp_path / "b.png", size=(9, 9))
    with pytest.raises(
        InputError, match=r"b\.png does not have the 8 × 5 pixels that the run was trained on"
    ):
        load_unlabelled(tmp_path, shape=(1, 5, 8))


def test_many_are_streamed_and_the_same(tmp_path, monkeypatch):
    for shade in range(4):
        write(tmp_path / f"{shade}.png", shade)
    (tmp_path / "2.png").write_bytes((tmp_path / "2.png").read_bytes()[:50])
    monkeypatch.setattr(image_folder, "STREAM_ABOVE", 100)
    with pytest.raises(InputError, match=r"2\.png"):
        shades(load_unlabelled(tmp_path, shape=(1, 8, 8)))
    found = load_unlabelled(tmp_path, shape=(1, 8, 8), reading=Reading(skip_bad_images=True))
    assert not isinstance(found.inputs, np.ndarray)
    assert shades(found) == [0, 1, 3]
    assert list(found.names) == ["0.png", "1.png", "3.png"]
    assert found.notes[0].endswith("1 of 4 pictures are missing or damaged and were left out:")


def test_the_test_part_is_read_without_a_look_at_the_others(tmp_path):
    for name in ("train/cat/a.png", "train/dog/b.png", "val/cat/c.png", "test/cat/d.png"):
        write(tmp_path / name)
    assert list(load_unlabelled(tmp_path, shape=(1, 8, 8)).names) == ["train/cat/a.png", "train/dog/b.png"]
    (tmp_path / "train" / "cat" / "a.png").write_bytes(b"damaged")
    assert list(load_unlabelled(tmp_path, shape=(1, 8, 8), test=True).names) == ["test/cat/d.png"]
    with pytest.raises(InputError, match="there is no test part; leave out --test"):
        load_unlabelled(tmp_path / "train", shape=(1, 8, 8), test=True)


@pytest.mark.parametrize(
    ("shape", "reading", "sentence"),
    [
        ((5,), Reading(), r"trained on inputs of shape \[5\], which picture files do not give"),
        ((4, 8, 8), Reading(), r"trained on inputs of shape \[4, 8, 8\], which"),
        ((1, 8, 8), Reading(resize=9), r"^--resize is 9, but .* pictures of 8 × 8 pixels; leave it out"),
        ((1, 8, 8), Reading(label="x"), "--label is for tables"),
    ],
)
def test_what_does_not_fit_the_run(tmp_path, shape, reading, sentence):
    write(tmp_path / "a.png")
    with pytest.raises(InputError, match=sentence):
        load_unlabelled(tmp_path, shape=shape, reading=reading)


def test_an_empty_folder(tmp_path):
    with pytest.raises(InputError, match="there is no picture in it"):
        load_unlabelled(tmp_path, shape=(1, 8, 8))


def test_clothing1m_is_read_in_the_size_of_the_run(clothing1m_folder):
    found = load_unlabelled("clothing1m", clothing1m_folder, shape=(3, 14, 14), resize=16)
    assert (found.inputs.shape[1:], found.inputs.cut.resize) == ((3, 14, 14), 16)

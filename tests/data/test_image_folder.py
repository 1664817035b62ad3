"""Folders of pictures: with classes to train on, and without to predict for."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from noiselimit.data import image_folder
from noiselimit.data.arrays import LazyInputs, View
from noiselimit.data.catalogue import load_data, load_unlabelled
from noiselimit.data.pictures import Cut, PictureFiles, read_picture
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError

SKIP = Reading(skip_bad_images=True)


def write(path, shade=0, size=(6, 4), mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size, shade).convert(mode).save(path)


def shades(inputs):
    return [round(int(picture[0, 0, 0]) / 10) for picture in inputs]


@pytest.fixture
def animals(tmp_path):
    """Three cats and two dogs in various places, and files that are not pictures."""
    folder = tmp_path / "animals"
    write(folder / "cat" / "b.PNG", 20)
    write(folder / "cat" / "a.jpg", 10)
    write(folder / "cat" / "black" / "c.gif", 30)
    write(folder / "dog" / "a.webp", 40)
    write(folder / "dog" / "z.Jpeg", 50)
    write(folder / "dog" / ".hidden.png")
    write(folder / ".trash" / "x.png")
    (folder / "dog" / "notes.txt").touch()
    (folder / "notes").mkdir()
    write(folder / "stray.png")
    return folder


def test_class_folders(animals):
    data = load_data(animals)
    assert data.name == "animals"
    assert data.examples.class_names == ("cat", "dog")
    assert data.examples.labels.tolist() == [0, 0, 0, 1, 1]
    assert shades(data.examples.inputs) == [1, 2, 3, 4, 5]
    assert data.examples.inputs.shape == (5, 3, 4, 6)
    assert isinstance(data.examples.inputs, np.ndarray)
    names = ["cat/a.jpg", "cat/b.PNG", "cat/black/c.gif", "dog/a.webp", "dog/z.Jpeg"]
    assert list(data.examples.names) == names
    assert (data.test, data.notes) == (None, ())
    (animals / "dog").rename(animals / "train")
    assert load_data(animals).examples.class_names == ("cat", "train")


def test_pictures_of_other_formats_are_noted(animals):
    (animals / "cat" / "x.HEIC").touch()
    (animals / "dog" / "y.heic").touch()
    assert "2 images of other formats (.heic)" in load_data(animals).notes[0]
    assert "(.heic)" in load_unlabelled(animals, shape=(3, 4, 6)).notes[0]


def test_train_test_and_validation_folders(tmp_path):
    for row, place in enumerate(["train/cat", "train/dog", "val/dog", "test/cat", "test/dog"]):
        write(tmp_path / place / "a.png", 10 * row)
    data = load_data(tmp_path)
    assert data.examples.class_names == ("cat", "dog")
    parts = [shades(part.inputs) for part in (data.examples, data.validation, data.test)]
    assert parts == [[0, 1], [2], [3, 4]]
    assert data.validation.labels.tolist() == [1]
    assert list(data.test.names) == ["test/cat/a.png", "test/dog/a.png"]
    assert "--validation-labels clean" in data.notes[0]
    assert shades(load_unlabelled(tmp_path, test=True).inputs) == [3, 4]


@pytest.mark.parametrize("name", ["val", "validation"])
def test_without_a_test_folder_the_validation_folder_is_the_test_part(tmp_path, name):
    for place in ("train/cat", "train/dog", f"{name}/cat"):
        write(tmp_path / place / "a.png")
    data = load_data(tmp_path)
    assert len(data.test) == 1
    assert data.validation is None


def test_grey_pictures_have_one_channel_unless_one_has_colour(tmp_path):
    write(tmp_path / "a" / "1.png", mode="L")
    write(tmp_path / "b" / "1.png", mode="1")
    assert load_data(tmp_path).examples.input_shape == (1, 4, 6)
    write(tmp_path / "b" / "2.png", mode="RGB")
    assert load_data(tmp_path).examples.input_shape == (3, 4, 6)


def test_resizing_takes_the_middle_square(tmp_path):
    pixels = np.repeat(np.array([0, 100, 100, 200], np.uint8), 10)[np.newaxis].repeat(20, 0)
    for name in "ab":
        (tmp_path / name).mkdir()
        Image.fromarray(pixels).save(tmp_path / name / "1.png")
        write(tmp_path / name / "2.png", 100, size=(7, 9), mode="L")
    inputs = load_data(tmp_path, reading=Reading(resize=5)).examples.inputs
    assert inputs.shape == (4, 1, 5, 5)
    assert (inputs[:, :, :, 1:4] == 100).all()


def test_many_pictures_are_streamed_and_are_the_same(animals, monkeypatch):
    for reading in (Reading(), Reading(resize=3), SKIP):
        held = load_data(animals, reading=reading)
        with monkeypatch.context() as patch:
            patch.setattr(image_folder, "STREAM_ABOVE", 5 * 3 * 9 - 1)
            streamed = load_data(animals, reading=reading)
        assert isinstance(streamed.examples.inputs, PictureFiles)
        assert np.array_equal(streamed.examples.inputs[:], held.examples.inputs)
        assert np.array_equal(streamed.examples.labels, held.examples.labels)
        assert list(streamed.examples.names) == list(held.examples.names)


def test_colour_pictures_are_read_for_features_unless_most_are_tiny(tmp_path):
    write(tmp_path / "a/1.png", 10, (50, 40))
    write(tmp_path / "a/2.png", 20, (33, 90))
    write(tmp_path / "b/1.png", 30, (60, 60))
    reading = Reading(features_side=48)
    data = load_data(tmp_path, reading=reading)
    assert isinstance(data.examples.inputs, PictureFiles)
    assert data.examples.inputs.cut == Cut(48, 48, 48)
    assert load_data(tmp_path, reading=replace(reading, resize=32)).examples.inputs.cut == Cut(32, 32, 32)
    assert isinstance(load_data(tmp_path, reading=replace(reading, resize=31)).examples.inputs, np.ndarray)
    for number in range(4):
        write(tmp_path / f"b/small-{number}.png", 30, (31, 60))
    with pytest.raises(InputError, match="resize"):
        load_data(tmp_path, reading=reading)


def test_streamed_and_scaled_pictures_leave_room_for_random_crops(tmp_path, monkeypatch):
    pixels = np.random.default_rng(1).integers(0, 256, (64, 64), np.uint8)
    for name in "ab":
        (tmp_path / name).mkdir()
        Image.fromarray(pixels).save(tmp_path / name / "1.png")
    assert load_data(tmp_path, reading=Reading(resize=28)).resize == 28
    monkeypatch.setattr(image_folder, "STREAM_ABOVE", 100)
    streamed = load_data(tmp_path, reading=Reading(resize=28))
    inputs = streamed.examples.inputs
    assert (inputs.shape, inputs.cut.resize, streamed.resize) == ((2, 1, 28, 28), 32, 32)
    scaled = np.asarray(Image.fromarray(pixels).resize((32, 32), Image.Resampling.BILINEAR))
    for down in (0, 0.5, 0.99):
        for across in (0, 0.5, 0.99):
            top, left = (int(where * 5) for where in (down, across))
            window = inputs.read(0, View(False, down, across))[0]
            assert np.array_equal(window, scaled[top : top + 28, left : left + 28])


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("damage", ["header", "pixels"])
def test_bad_pictures_are_an_error_or_skipped_and_noted(animals, monkeypatch, streamed, damage):
    if streamed:
        monkeypatch.setattr(image_folder, "STREAM_ABOVE", 0)
    bad = animals / "cat" / "b.PNG"
    bad.write_bytes(bad.read_bytes()[: 20 if damage == "header" else 45])
    with pytest.raises(InputError, match=r"cat/b\.PNG: .*--skip-bad-images"):
        load_data(animals).examples.inputs[:]  # streamed pictures are decoded only here
    data = load_data(animals, reading=SKIP)
    assert isinstance(data.examples.inputs, LazyInputs) == streamed
    assert shades(data.examples.inputs) == [1, 3, 4, 5]
    assert data.examples.labels.tolist() == [0, 0, 1, 1]
    assert list(data.examples.names)[:2] == ["cat/a.jpg", "cat/black/c.gif"]
    count, which = data.notes
    assert "1 of 5 images" in count
    assert which.startswith(f"{bad}: ")
    assert "--skip" not in which


@pytest.mark.parametrize(
    ("sizes", "word"),
    [
        ({"a.png": (6, 4)}, "idx.*class"),
        ({"a/1.png": (6, 4)}, "only one class"),
        ({"a/1.png": (6, 4), "b/1.png": (6, 5)}, r"a/1\.png .*b/1\.png .*--resize.*--features"),
        ({"train/a/1.png": (6, 4), "train/b/1.png": (6, 4), "test/a/1.png": (4, 6)}, "test/a.*--resize"),
        ({"train/a/1.png": (6, 4), "extra/b/1.png": (6, 4)}, "extra"),
        ({"train/1.png": (6, 4), "test/1.png": (6, 4)}, "train"),
        ({"test/a/1.png": (6, 4), "val/a/1.png": (6, 4)}, "no train"),
        ({"train/a/1.png": (6, 4), "train/b/1.png": (6, 4), "test/c/1.png": (6, 4)}, "'c'"),
        ({"a\n/1.png": (6, 4), "b/1.png": (6, 4)}, "rename"),
        ({"a/1\udce9.png": (6, 4), "b/1.png": (6, 4)}, "rename"),
    ],
)
def test_folders_that_cannot_be_used(tmp_path, sizes, word):
    for name, size in sizes.items():
        write(tmp_path / name, size=size)
    with pytest.raises(InputError, match=f"^{tmp_path}.*{word}"):
        load_data(tmp_path)


def test_classes_of_bad_pictures_only(animals):
    for path in (animals / "dog").glob("?.*"):
        path.write_bytes(b"no picture")
    with pytest.raises(InputError, match="'dog'"):
        load_data(animals, reading=SKIP)
    for path in animals.rglob("*.*"):
        if path.is_file():
            path.write_bytes(b"no picture")
    with pytest.raises(InputError, match="all of its 5"):
        load_data(animals, reading=SKIP)


def grey(path, shade=0, size=(8, 8)):
    write(path, shade, size, "L")


def test_unlabelled_pictures_may_be_nested(tmp_path):
    for shade, name in enumerate(["a.png", "b/c.PNG", "b/d/e/f.bmp"]):
        grey(tmp_path / name, 10 * shade)
    grey(tmp_path / ".hidden" / "x.png")
    (tmp_path / "notes.txt").touch()
    found = load_unlabelled(tmp_path, shape=(1, 8, 8))
    assert list(found.names) == ["a.png", "b/c.PNG", "b/d/e/f.bmp"]
    assert shades(found.inputs) == [0, 1, 2]
    assert found.notes == ()
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=f"^{tmp_path / 'empty'}: "):
        load_unlabelled(tmp_path / "empty", shape=(1, 8, 8))


def test_one_picture(tmp_path):
    grey(tmp_path / "b.JPG", 40)
    grey(tmp_path / "a.png")
    found = load_unlabelled(tmp_path / "b.JPG", shape=(3, 8, 8))
    assert (found.inputs.shape, list(found.names)) == ((1, 3, 8, 8), ["b.JPG"])
    with pytest.raises(InputError, match="--test"):
        load_unlabelled(tmp_path / "b.JPG", shape=(3, 8, 8), test=True)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("resize", [None, 8, 10])
def test_size_and_channels_follow_the_run(tmp_path, channels, resize):
    pixels = np.random.default_rng(0).integers(0, 256, (30, 20, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    grey(tmp_path / "b.png", 9)
    found = load_unlabelled(tmp_path, shape=(channels, 8, 8), resize=resize)
    expected = read_picture(tmp_path / "a.png", Cut(8, 8, resize or 8, channels))
    assert np.array_equal(found.inputs[0], expected)
    assert (found.inputs[1] == 9).all()
    assert len(found.notes) == (resize is None)  # scaled although the run scaled none


def test_pictures_of_the_right_size_are_not_scaled(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 8), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    assert np.array_equal(load_unlabelled(tmp_path, shape=(1, 5, 8)).inputs[0, 0], pixels)
    grey(tmp_path / "b.png", size=(9, 9))
    with pytest.raises(InputError, match=r"8 × 5 .*b\.png"):
        load_unlabelled(tmp_path, shape=(1, 5, 8))


def test_only_the_requested_part_is_read(tmp_path):
    for name in ("train/cat/a.png", "train/dog/b.png", "val/cat/c.png", "test/cat/d.png"):
        grey(tmp_path / name)
    assert list(load_unlabelled(tmp_path, shape=(1, 8, 8)).names) == ["train/cat/a.png", "train/dog/b.png"]
    (tmp_path / "train" / "cat" / "a.png").write_bytes(b"damaged")
    assert list(load_unlabelled(tmp_path, shape=(1, 8, 8), test=True).names) == ["test/cat/d.png"]
    with pytest.raises(InputError, match="--test"):
        load_unlabelled(tmp_path / "train", shape=(1, 8, 8), test=True)


@pytest.mark.parametrize(
    ("shape", "reading", "word"),
    [
        ((5,), Reading(), r"\[5\]"),
        ((4, 8, 8), Reading(), r"\[4, 8, 8\]"),
        ((1, 8, 8), Reading(resize=9), "--resize"),
        ((1, 8, 8), Reading(label="x"), "--label"),
    ],
)
def test_options_that_do_not_fit_the_run(tmp_path, shape, reading, word):
    grey(tmp_path / "a.png")
    with pytest.raises(InputError, match=word):
        load_unlabelled(tmp_path, shape=shape, reading=reading)

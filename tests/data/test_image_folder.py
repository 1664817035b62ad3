"""A folder of class folders of pictures."""

import numpy as np
import pytest
from PIL import Image

from noiselimit.data import image_folder
from noiselimit.data.arrays import LazyInputs, View
from noiselimit.data.catalogue import load_data, load_inputs
from noiselimit.data.pictures import PictureFiles
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError


def write(path, shade=0, size=(6, 4), mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size, shade).convert(mode).save(path)


@pytest.fixture
def animals(tmp_path):
    """Three cats and two dogs, in all sorts of places, and what is no picture."""
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


def shades(examples):
    return [round(int(picture[0, 0, 0]) / 10) for picture in examples.inputs]


def test_class_folders(animals):
    data = load_data(animals)
    assert data.name == "animals"
    assert data.examples.class_names == ("cat", "dog")
    assert data.examples.labels.tolist() == [0, 0, 0, 1, 1]
    assert shades(data.examples) == [1, 2, 3, 4, 5]
    assert data.examples.inputs.shape == (5, 3, 4, 6)
    assert isinstance(data.examples.inputs, np.ndarray)
    assert list(data.examples.names) == [
        "cat/a.jpg", "cat/b.PNG", "cat/black/c.gif", "dog/a.webp", "dog/z.Jpeg"
    ]  # fmt: skip
    assert data.test is None
    assert data.notes == ()


def test_train_and_test_folders(tmp_path):
    for row, place in enumerate(["train/cat", "train/dog", "val/dog", "test/cat", "test/dog"]):
        write(tmp_path / place / "a.png", 10 * row)
    data = load_data(tmp_path)
    assert data.examples.class_names == ("cat", "dog")
    assert [shades(part) for part in (data.examples, data.validation, data.test)] == [[0, 1], [2], [3, 4]]
    assert data.validation.labels.tolist() == [1]
    assert list(data.test.names) == ["test/cat/a.png", "test/dog/a.png"]
    assert shades_of(load_inputs(tmp_path, test=True)) == [3, 4]


def shades_of(inputs):
    return [round(int(picture[0, 0, 0]) / 10) for picture in inputs]


@pytest.mark.parametrize("name", ["val", "validation"])
def test_where_there_is_no_other_the_validation_folder_is_the_test_part(tmp_path, name):
    for place in ("train/cat", "train/dog", f"{name}/cat"):
        write(tmp_path / place / "a.png")
    data = load_data(tmp_path)
    assert len(data.test) == 1
    assert data.validation is None


def test_train_may_be_a_class(tmp_path):
    for place in ("bus", "train"):
        write(tmp_path / place / "a.png")
    assert load_data(tmp_path).examples.class_names == ("bus", "train")


def test_all_grey_is_one_channel_and_one_colour_picture_makes_three(tmp_path):
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
    for reading in (Reading(), Reading(resize=3), Reading(skip_bad_images=True)):
        held = load_data(animals, reading=reading)
        with monkeypatch.context() as patch:
            patch.setattr(image_folder, "STREAM_ABOVE", 5 * 3 * 9 - 1)
            streamed = load_data(animals, reading=reading)
        assert isinstance(streamed.examples.inputs, PictureFiles)
        assert np.array_equal(streamed.examples.inputs[:], held.examples.inputs)
        assert np.array_equal(streamed.examples.labels, held.examples.labels)
        assert list(streamed.examples.names) == list(held.examples.names)


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("damage", ["header", "pixels"])
def test_bad_pictures_are_an_error_or_left_out_and_reported(animals, monkeypatch, streamed, damage):
    if streamed:
        monkeypatch.setattr(image_folder, "STREAM_ABOVE", 0)
    bad = animals / "cat" / "b.PNG"
    content = bad.read_bytes()
    bad.write_bytes(content[: 20 if damage == "header" else 45])
    if damage == "header" or not streamed:
        with pytest.raises(InputError, match=r"cat/b\.PNG: .* cannot be decoded .*--skip-bad-images"):
            load_data(animals)
    else:  # decoding everything beforehand is for those who ask
        with pytest.raises(InputError, match=r"cat/b\.PNG: this picture cannot be decoded"):
            load_data(animals).examples.inputs[:]
    data = load_data(animals, reading=Reading(skip_bad_images=True))
    assert isinstance(data.examples.inputs, LazyInputs) == streamed
    assert shades(data.examples) == [1, 3, 4, 5]
    assert data.examples.labels.tolist() == [0, 0, 1, 1]
    assert list(data.examples.names)[:2] == ["cat/a.jpg", "cat/black/c.gif"]
    assert len(data.notes) == 2
    assert data.notes[0] == f"{animals}: 1 of 5 pictures are missing or damaged and were left out:"
    assert data.notes[1].startswith(f"{bad}: this picture cannot be decoded (")
    assert "--skip" not in data.notes[1]


@pytest.mark.parametrize(
    ("pictures", "sentence"),
    [
        (
            {},
            r"neither idx files .* nor class folders of pictures \(\.jpg, .*\); name a folder",
        ),
        ({"a.png": (6, 4)}, "neither idx files"),
        ({"a/1.png": (6, 4)}, "there is only one class; a classifier needs"),
        (
            {"a/1.png": (6, 4), "a/2.png": (6, 4), "b/1.png": (6, 5)},
            r"a/1\.png has 6 × 4 pixels but b/1\.png 6 × 5; .*--resize 64",
        ),
        (
            {"train/a/1.png": (6, 4), "train/b/1.png": (6, 4), "test/a/1.png": (4, 6)},
            "6 × 4 pixels but test",
        ),
        ({"train/a/1.png": (6, 4), "extra/b/1.png": (6, 4)}, "train has class folders .* beside it is extra"),
        ({"train/1.png": (6, 4), "test/1.png": (6, 4)}, "/train: its pictures are in no class folders; make"),
        (
            {"train/a/1.png": (6, 4), "train/b/1.png": (6, 4), "test/c/1.png": (6, 4)},
            "test/c: the training part has no class 'c'; add",
        ),
        ({"a\n/1.png": (6, 4), "b/1.png": (6, 4)}, r"the class folder 'a\\n' is not named in text; rename"),
        ({b"caf\xe9/1.png".decode("utf-8", "surrogateescape"): (6, 4)}, "is not named in text"),
    ],
)
def test_what_is_no_image_folder(tmp_path, pictures, sentence):
    for name, size in pictures.items():
        write(tmp_path / name, size=size)
    with pytest.raises(InputError, match=f"^{tmp_path}.*{sentence}"):
        load_data(tmp_path)


def test_nothing_but_bad_pictures(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.png").touch()
    with pytest.raises(InputError, match=r"all of its 2 pictures are .* the first being a/1\.png"):
        load_data(tmp_path, reading=Reading(skip_bad_images=True))


@pytest.mark.parametrize("resize", [0, -3, 100_000, 2.5, True])
def test_an_impossible_size(animals, resize):
    with pytest.raises(
        InputError, match=f"^--resize is {resize}: give a whole number of pixels from 1 to 2048"
    ):
        load_data(animals, reading=Reading(resize=resize))


def test_streamed_and_scaled_pictures_leave_the_window_room_in_both_directions(tmp_path, monkeypatch):
    pixels = np.random.default_rng(1).integers(0, 256, (64, 64), np.uint8)
    for name in "ab":
        (tmp_path / name).mkdir()
        Image.fromarray(pixels).save(tmp_path / name / "1.png")
    held = load_data(tmp_path, reading=Reading(resize=28))
    assert held.resize == 28
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


def test_a_validation_folder_that_is_not_used_by_itself_is_told_of(tmp_path):
    for place in ("train/cat", "train/dog", "val/dog", "test/cat"):
        write(tmp_path / place / "a.png")
    (note,) = load_data(tmp_path).notes
    assert "1 pictures for validation choose the epoch only with --validation-labels clean" in note


@pytest.mark.parametrize("places", [["test/cat", "val/cat"], ["test/cat", "test/dog"], ["test", "val"]])
def test_parts_without_one_to_train_on(tmp_path, places):
    for place in places:
        write(tmp_path / place / "a.png")
    with pytest.raises(InputError, match=r"there is test.* but no train; put pictures to train on there"):
        load_data(tmp_path)


def test_a_class_of_bad_pictures_only(animals):
    for path in (animals / "dog").glob("?.*"):
        path.write_bytes(b"no picture")
    with pytest.raises(InputError, match="all pictures of class 'dog' are missing or damaged; restore some"):
        load_data(animals, reading=Reading(skip_bad_images=True))

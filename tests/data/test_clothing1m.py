"""Clothing1M as its authors hand it out, on a small copy of the layout."""

import shutil

import numpy as np
import pytest
from PIL import Image

from noiselimit.data import clothing1m
from noiselimit.data.catalogue import load_data
from noiselimit.data.pictures import PictureFiles
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError


@pytest.fixture(autouse=True)
def small_pictures(monkeypatch):
    monkeypatch.setattr(clothing1m, "SIDE", 28)


@pytest.fixture
def copy(clothing1m_folder, tmp_path):
    """A copy to damage."""
    return shutil.copytree(clothing1m_folder, tmp_path / "clothing1m")


@pytest.fixture
def damaged(copy):
    """One picture missing, one empty, one cut off, one no picture, in the training and in the test part."""
    keys = (copy / "noisy_train_key_list.txt").read_text().split()
    (copy / keys[3]).unlink()
    (copy / keys[100]).write_bytes(b"")
    (copy / keys[200]).write_bytes((copy / keys[200]).read_bytes()[:700])
    test_key = (copy / "clean_test_key_list.txt").read_text().split()[27]
    (copy / test_key).write_bytes(b"<html>not found</html>")
    return copy, [keys[3], keys[100], keys[200], test_key]


def test_the_parts(clothing1m_folder):
    data = load_data("clothing1m", clothing1m_folder)
    assert data.name == "clothing1m"
    assert [len(part) for part in (data.examples, data.validation, data.test)] == [280, 28, 28]
    assert data.examples.class_names == tuple(f"Garment {number}" for number in range(14))
    assert data.examples.labels.tolist() == [row % 14 for row in range(280)]
    assert data.examples.clean_labels is None
    assert data.examples.names[15] == "images/0/1/noisy_train,15.jpg"
    assert data.test.names[0] == "images/0/0/clean_test,0.jpg"
    assert data.validation.names[0] == "images/0/0/clean_val,0.jpg"
    assert dict(data.defaults) == {"network": "resnet-50", "epochs": 30, "augmentation": "flip-crop"}
    assert data.notes == ()


def test_pictures_are_streamed(clothing1m_folder):
    inputs = load_data("clothing1m", clothing1m_folder).examples.inputs
    assert isinstance(inputs, PictureFiles)
    assert inputs.shape == (280, 3, 28, 28)
    assert inputs.cut.resize == 32
    # Their brightness tells the classes apart: rows and files belong together.
    means = np.array([inputs[row].mean() for row in range(14)])
    assert np.abs(means - (39.5 + 12 * np.arange(14))).max() < 6


def test_published_sizes_and_asking_for_others(clothing1m_folder, monkeypatch):
    monkeypatch.undo()
    inputs = load_data("clothing1m", clothing1m_folder).examples.inputs
    assert (inputs.shape[1:], inputs.cut.resize) == ((3, 224, 224), 256)
    smaller = load_data("clothing1m", clothing1m_folder, reading=Reading(resize=14)).examples.inputs
    assert (smaller.shape[1:], smaller.cut.resize) == ((3, 14, 14), 16)


def test_lists_in_a_folder_of_their_own(copy):
    (copy / "annotations").mkdir()
    for path in copy.glob("*.txt"):
        path.rename(copy / "annotations" / path.name)
    data = load_data("clothing1m", copy.parent)  # found by its name
    assert data.examples.inputs[0].shape == (3, 28, 28)


def test_clean_labels_where_all_are_known(copy):
    noisy = (copy / "noisy_label_kv.txt").read_text().splitlines()
    with (copy / "clean_label_kv.txt").open("a") as file:
        file.writelines(f"{line.split()[0]} 3\n" for line in noisy[:-1])
    assert load_data("clothing1m", copy).examples.clean_labels is None
    with (copy / "clean_label_kv.txt").open("a") as file:
        file.write(f"{noisy[-1].split()[0]} 3\n")
    assert load_data("clothing1m", copy).examples.clean_labels.tolist() == [3] * 280


def test_a_missing_picture_is_an_error_at_once(damaged):
    folder, bad = damaged
    with pytest.raises(InputError, match=f"^{folder / bad[0]}: this picture is missing .*--skip-bad-images"):
        load_data("clothing1m", folder)
    Image.new("RGB", (40, 30)).save(folder / bad[0])
    with pytest.raises(InputError, match=f"^{folder / bad[1]}: this picture is empty; .*--skip-bad-images"):
        load_data("clothing1m", folder)


def test_a_corrupt_picture_is_an_error_when_it_is_decoded(damaged):
    folder, bad = damaged
    for key in bad[:2]:
        Image.new("RGB", (40, 30)).save(folder / key)
    data = load_data("clothing1m", folder)
    assert data.examples.inputs[199].shape == (3, 28, 28)
    with pytest.raises(InputError, match=f"^{folder / bad[2]}: .* cannot be decoded .*--skip-bad-images"):
        data.examples.inputs[200]


def test_bad_pictures_are_left_out_and_reported(damaged):
    folder, bad = damaged
    data = load_data("clothing1m", folder, reading=Reading(skip_bad_images=True))
    assert [len(part) for part in (data.examples, data.validation, data.test)] == [277, 28, 27]
    assert data.notes[0] == "clothing1m: 4 of 336 pictures are missing or damaged and were left out:"
    assert [note.split(": ")[0] for note in data.notes[1:]] == [str(folder / key) for key in bad]
    assert not set(bad) & {*data.examples.names, *data.test.names}
    assert data.examples.labels.tolist() == [row % 14 for row in range(280) if row not in (3, 100, 200)]
    assert data.examples.inputs[:].shape == (277, 3, 28, 28)
    assert data.test.inputs[:].shape == (27, 3, 28, 28)


def test_many_bad_pictures_are_counted(copy):
    for key in (copy / "noisy_train_key_list.txt").read_text().split()[:42]:
        (copy / key).unlink()
    notes = load_data("clothing1m", copy, reading=Reading(skip_bad_images=True)).notes
    assert len(notes) == 22
    assert notes[0].startswith("clothing1m: 42 of 336")
    assert notes[-1] == "… and 22 more."


@pytest.mark.parametrize("name", clothing1m.LISTS)
def test_every_list_is_needed(copy, name):
    (copy / name).unlink()
    with pytest.raises(InputError, match=f"^{copy / name}: this file of Clothing1M is missing; unpack"):
        load_data("clothing1m", copy)


@pytest.mark.parametrize(
    ("name", "line", "sentence"),
    [
        (
            "noisy_label_kv.txt",
            "images/x.jpg 14",
            "line 281 has category 14, but category_names",
        ),
        ("clean_label_kv.txt", "images/x.jpg", "line 71 is not a path and a number"),
        ("clean_label_kv.txt", "images/x.jpg -1", "line 71 is not a path and a number"),
        ("clean_label_kv.txt", "images/x.jpg ²", "line 71 is not a path and a number"),
        ("clean_label_kv.txt", "7", "line 71 is not a path and a number"),
        (
            "noisy_train_key_list.txt",
            "images/x.jpg",
            "x.jpg in line 281 has no label in noisy_label",
        ),
        (
            "clean_test_key_list.txt",
            "images/x.jpg",
            "x.jpg in line 29 has no label in clean_label",
        ),
        ("category_names_eng.txt", "Garment 3", "class_names has 'Garment 3' twice"),
        ("category_names_eng.txt", "Hat", r"class 14 \('Hat'\) has no example"),
    ],
)
def test_lists_that_do_not_fit_together(copy, name, line, sentence):
    with (copy / name).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(InputError, match=sentence):
        load_data("clothing1m", copy)


def test_lists_that_are_empty_or_no_text(copy):
    (copy / "clean_val_key_list.txt").write_text("\n")
    with pytest.raises(InputError, match=r"clean_val_key_list\.txt: this list is empty"):
        load_data("clothing1m", copy)
    (copy / "clean_val_key_list.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"clean_val_key_list\.txt: cannot be read as text"):
        load_data("clothing1m", copy)


def test_where_to_get_it(tmp_path, monkeypatch):
    monkeypatch.delenv("NOISELIMIT_DATA", raising=False)
    with pytest.raises(InputError, match=r"^clothing1m: .*NOISELIMIT_DATA\.$"):
        load_data("clothing1m")
    with pytest.raises(InputError, match="ask their authors for them"):
        load_data("clothing1m", tmp_path)
    with pytest.raises(InputError, match="its authors hand the files out themselves"):
        load_data("clothing1m", tmp_path, download=True)


def test_a_class_of_bad_pictures_only(copy):
    for key in (copy / "noisy_train_key_list.txt").read_text().split()[3::14]:
        (copy / key).write_bytes(b"")
    with pytest.raises(
        InputError, match=r"all pictures of class .Garment 3. are missing or damaged; restore"
    ):
        load_data("clothing1m", copy, reading=Reading(skip_bad_images=True))

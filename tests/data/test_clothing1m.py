"""Clothing1M, on a small copy of its layout."""

import shutil

import numpy as np
import pytest
from PIL import Image

from noiselimit.data import clothing1m
from noiselimit.data.catalogue import load_data, load_unlabelled
from noiselimit.data.pictures import PictureFiles
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError

SKIP = Reading(skip_bad_images=True)


@pytest.fixture(autouse=True)
def small_pictures(monkeypatch):
    monkeypatch.setattr(clothing1m, "SIDE", 28)


@pytest.fixture
def copy(clothing1m_folder, tmp_path):
    """A copy to damage."""
    return shutil.copytree(clothing1m_folder, tmp_path / "clothing1m")


@pytest.fixture
def damaged(copy):
    """One picture missing, one empty, one cut off, and one in the test part that is not a picture."""
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
    inputs = data.examples.inputs
    assert isinstance(inputs, PictureFiles)
    # Brightness tells the classes apart, so rows and files belong together.
    means = np.array([inputs[row].mean() for row in range(14)])
    assert np.abs(means - (39.5 + 12 * np.arange(14))).max() < 6


def test_sizes(clothing1m_folder, monkeypatch):
    monkeypatch.undo()
    inputs = load_data("clothing1m", clothing1m_folder).examples.inputs
    assert (inputs.shape[1:], inputs.cut.resize) == ((3, 224, 224), 256)
    smaller = load_data("clothing1m", clothing1m_folder, reading=Reading(resize=14)).examples.inputs
    assert (smaller.shape[1:], smaller.cut.resize) == ((3, 14, 14), 16)
    found = load_unlabelled("clothing1m", clothing1m_folder, shape=(3, 14, 14), resize=16).inputs
    assert (found.shape[1:], found.cut.resize) == ((3, 14, 14), 16)


def test_lists_in_a_folder_of_their_own(copy):
    (copy / "annotations").mkdir()
    for path in copy.glob("*.txt"):
        path.rename(copy / "annotations" / path.name)
    assert load_data("clothing1m", copy.parent).examples.inputs[0].shape == (3, 28, 28)


def test_clean_labels_only_if_all_are_known(copy):
    noisy = (copy / "noisy_label_kv.txt").read_text().splitlines()
    with (copy / "clean_label_kv.txt").open("a") as file:
        file.writelines(f"{line.split()[0]} 3\n" for line in noisy[:-1])
    assert load_data("clothing1m", copy).examples.clean_labels is None
    with (copy / "clean_label_kv.txt").open("a") as file:
        file.write(f"{noisy[-1].split()[0]} 3\n")
    assert load_data("clothing1m", copy).examples.clean_labels.tolist() == [3] * 280


def test_bad_pictures_are_an_error(damaged):
    folder, bad = damaged
    for key in bad[:2]:
        with pytest.raises(InputError, match=f"^{folder / key}: .*--skip-bad-images"):
            load_data("clothing1m", folder)
        Image.new("RGB", (40, 30)).save(folder / key)
    inputs = load_data("clothing1m", folder).examples.inputs
    with pytest.raises(InputError, match=f"^{folder / bad[2]}: .*--skip-bad-images"):
        inputs[200]  # found only when it is decoded


def test_bad_pictures_are_skipped_and_noted(damaged):
    folder, bad = damaged
    data = load_data("clothing1m", folder, reading=SKIP)
    assert [len(part) for part in (data.examples, data.validation, data.test)] == [277, 28, 27]
    assert "4 of 336 images" in data.notes[0]
    assert [note.split(": ")[0] for note in data.notes[1:]] == [str(folder / key) for key in bad]
    assert not set(bad) & {*data.examples.names, *data.test.names}
    assert data.examples.labels.tolist() == [row % 14 for row in range(280) if row not in (3, 100, 200)]
    assert data.examples.inputs[:].shape == (277, 3, 28, 28)


@pytest.mark.parametrize("name", [clothing1m.CATEGORIES, *clothing1m.LISTS])
def test_every_list_is_needed(copy, name):
    for content in (None, b"\xff\xfe", b"\n"):
        (copy / name).unlink() if content is None else (copy / name).write_bytes(content)
        with pytest.raises(InputError, match=r"\.txt: |class"):
            load_data("clothing1m", copy)


@pytest.mark.parametrize(
    ("name", "line", "word"),
    [
        ("noisy_label_kv.txt", "images/x.jpg 14", "line 281"),
        ("clean_label_kv.txt", "images/x.jpg", "line 71"),
        ("clean_label_kv.txt", "images/x.jpg -1", "line 71"),
        ("clean_label_kv.txt", "images/x.jpg ²", "line 71"),
        ("clean_label_kv.txt", "7", "line 71"),
        ("noisy_train_key_list.txt", "images/x.jpg", r"x\.jpg in line 281"),
        ("clean_test_key_list.txt", "images/x.jpg", r"x\.jpg in line 29"),
        ("category_names_eng.txt", "Garment 3", "'Garment 3' twice"),
        ("category_names_eng.txt", "Hat", "'Hat'"),
    ],
)
def test_lists_that_do_not_fit_together(copy, name, line, word):
    with (copy / name).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(InputError, match=word):
        load_data("clothing1m", copy)


def test_it_cannot_be_downloaded(tmp_path, monkeypatch):
    monkeypatch.delenv("NOISELIMIT_DATA", raising=False)
    for arguments in ((), (tmp_path,), (tmp_path, True)):
        with pytest.raises(InputError, match=r"^clothing1m: .*NOISELIMIT_DATA"):
            load_data("clothing1m", *arguments)

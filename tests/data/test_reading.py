"""What a user says about reading is heeded or refused, never ignored."""

import numpy as np
import pytest
from PIL import Image

from noiselimit.data.catalogue import load_data, load_inputs
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError


@pytest.fixture
def place(tmp_path, monkeypatch, write_idx_folder):
    """A file or folder of every format, by its ending or name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x,label\n1,a\n2,b\n3,a\n")
    np.savez(tmp_path / "a.npz", X=np.arange(6.0).reshape(3, 2), y=[0, 1, 0])
    write_idx_folder(tmp_path / "idx")
    for name in ("cat", "dog"):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        Image.new("L", (6, 4)).save(tmp_path / "pictures" / name / "1.png")
    return tmp_path


TABLE = {"label": "label", "clean_label": "label", "weight": "x", "ignore": ["x"]}
PICTURES = {"resize": 4, "skip_bad_images": True}


@pytest.mark.parametrize(
    ("source", "refused"),
    [
        ("digits", TABLE | PICTURES),
        ("a.csv", PICTURES),
        ("a.npz", TABLE | PICTURES),
        ("idx", TABLE | PICTURES),
        ("pictures", TABLE),
        ("clothing1m", TABLE),
        ("mnist", TABLE | PICTURES),
    ],
)
def test_what_a_format_does_not_heed_is_refused(place, source, refused):
    for name, value in refused.items():
        option = "--" + name.replace("_", "-")
        with pytest.raises(InputError, match=f"^{source}: {option} is for .*; leave it out"):
            load_data(source, reading=Reading(**{name: value}))


def test_what_it_heeds_is_taken(place):
    assert len(load_data("a.csv", reading=Reading(label="label")).examples) == 3
    assert load_data("pictures", reading=Reading(**PICTURES)).examples.input_shape == (1, 4, 4)


def test_columns_to_ignore_are_several():
    assert Reading(ignore=["a", "b"]) == Reading(ignore=("a", "b"))
    with pytest.raises(InputError, match=r"^ignore is 'id': give a list of names of columns\."):
        Reading(ignore="id")


@pytest.mark.parametrize("source", ["a.csv", "a.npz"])
def test_files_to_predict_for(place, source):
    with pytest.raises(InputError, match=f"^{source}: --resize is for picture files"):
        load_inputs(source, reading=Reading(resize=4))


@pytest.mark.parametrize("load", [load_data, load_inputs])
@pytest.mark.parametrize("source", ["digits", "a.csv", "a.npz", "idx", "pictures"])
def test_nothing_is_downloaded_for_data_of_ones_own(place, load, source):
    with pytest.raises(InputError, match=f"^{source}: nothing is downloaded for .*; leave out --download"):
        load(source, download=True)


@pytest.mark.parametrize("name", ["a.csv", "a.npz"])
def test_endings_in_capitals(place, name):
    before = load_data(name).fingerprint
    (place / name).rename(place / name.upper())
    assert load_data(name.upper()).fingerprint == before

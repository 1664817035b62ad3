"""Archives give a data set, or a sentence that names the array."""

import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.npz import read_npz, read_npz_inputs
from noiselimit.errors import InputError

INPUTS = np.arange(12, dtype=np.float32).reshape(6, 2)
LABELS = np.array([0, 1, 2, 0, 1, 2])


@pytest.fixture
def save(tmp_path):
    """Save arrays in an archive and return its path."""

    def write(**arrays):
        np.savez(tmp_path / "toys.npz", **arrays)
        return tmp_path / "toys.npz"

    return write


@pytest.mark.parametrize(("inputs", "labels"), [("inputs", "labels"), ("X", "y")])
def test_both_pairs_of_names(save, inputs, labels):
    data = read_npz(save(**{inputs: INPUTS, labels: LABELS}))
    assert data.name == "toys"
    assert data.test is None
    assert np.array_equal(data.examples.inputs, INPUTS)
    assert np.array_equal(data.examples.labels, LABELS)


@pytest.mark.parametrize(("inputs", "labels"), [("test_inputs", "test_labels"), ("X_test", "y_test")])
def test_everything_optional(save, inputs, labels):
    arrays = {
        "clean_labels": LABELS[::-1],
        "class_names": np.array(["a", "b", "c"]),
        inputs: INPUTS[:2],
        labels: LABELS[:2],
    }
    data = read_npz(save(X=INPUTS, y=LABELS, **arrays))
    assert data.examples.class_names == ("a", "b", "c")
    assert np.array_equal(data.examples.clean_labels, LABELS[::-1])
    assert data.test is not None
    assert np.array_equal(data.test.inputs, INPUTS[:2])
    assert data.test.labels.tolist() == [0, 1]


def test_strings_mean_the_same_class_in_both_parts(save):
    path = save(X=INPUTS, y=np.array(list("abcabc")), X_test=INPUTS[:2], y_test=np.array(["c", "b"]))
    test = read_npz(path).test
    assert test is not None
    assert test.labels.tolist() == [2, 1]


def test_a_string_that_only_the_test_part_has(save):
    path = save(X=INPUTS, y=np.array(list("abcabc")), X_test=INPUTS[:2], y_test=np.array(["c", "d"]))
    with pytest.raises(InputError, match=r"toys\.npz \(test part\): label in row 1 is d, which is none"):
        read_npz(path)


def test_weights_and_other_labels_of_the_same_examples(save):
    path = save(X=INPUTS, y=LABELS, weights=np.arange(6), labels_worst=LABELS[::-1], labels_=LABELS[:1])
    examples = read_npz(path).examples
    assert examples.weights is not None
    assert examples.weights.tolist() == [0, 1, 2, 3, 4, 5]
    assert {name: labels.tolist() for name, labels in examples.label_sets.items()} == {
        "worst": LABELS[::-1].tolist()
    }


def test_inputs_alone_are_enough_to_predict(save):
    assert np.array_equal(read_npz_inputs(save(X=INPUTS.astype(np.float64))), INPUTS)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"X": INPUTS, "target": LABELS}, r"there is no array 'labels' \(or 'y'\) but X, target; rename"),
        ({"y": LABELS}, r"there is no array 'inputs' \(or 'X'\) but y; rename"),
        ({}, r"there is no array 'inputs' \(or 'X'\) but nothing; rename"),
        (
            {"X": INPUTS, "y": LABELS, "X_test": INPUTS},
            r"there is no array 'test_labels' \(or 'y_test'\) but X, y, X_test",
        ),
        (
            {"X": INPUTS, "y": LABELS, "y_test": LABELS},
            r"there is no array 'test_inputs' \(or 'X_test'\) but",
        ),
        ({"X": INPUTS, "y": LABELS.astype(object)}, r"array 'y' cannot be read \(.*\); save plain numbers"),
        ({"X": INPUTS, "y": LABELS - 1}, "label in row 0 is -1; labels must be"),
        ({"X": INPUTS, "y": LABELS, "class_names": np.arange(3)}, "class_names must be strings"),
        ({"X": INPUTS, "y": LABELS, "weights": LABELS[:2]}, "weights have shape \\[2\\]"),
        ({"X": INPUTS, "y": LABELS, "labels_a": LABELS[:2]}, "there are 6 inputs but 2 a labels; give one"),
        ({"X": INPUTS, "y": LABELS, "labels_a": LABELS + 1}, "a label in row 2 is 3, which is none of the 3"),
    ],
)
def test_what_an_archive_may_lack(save, arrays, sentence):
    path = save(**arrays)
    with pytest.raises(InputError, match=f"^{path}: {sentence}"):
        read_npz(path)


def test_files_that_are_no_archives(tmp_path):
    single, text, empty = (tmp_path / f"{name}.npz" for name in ("single", "text", "empty"))
    with single.open("wb") as file:
        np.save(file, INPUTS)
    text.write_text("inputs, labels")
    empty.touch()
    with pytest.raises(InputError, match=r"this is a single array; put inputs and labels in one file"):
        read_npz(single)
    for path in (text, empty, tmp_path / "absent.npz", tmp_path):
        with pytest.raises(InputError, match=rf"^{path}: cannot be read as a NumPy archive \(.*\); write"):
            read_npz(path)


def test_a_member_that_is_no_array(tmp_path):
    with zipfile.ZipFile(tmp_path / "toys.npz", "w") as archive:
        archive.writestr("X", "1 2 3")
    with pytest.raises(InputError, match=r"'X' cannot be read \(it is no NumPy array\)"):
        read_npz_inputs(tmp_path / "toys.npz")


@given(data=st.data(), cut=st.booleans())
def test_damage_is_noticed_or_harmless(tmp_path_factory, data, cut):
    stream = io.BytesIO()
    np.savez_compressed(stream, X=INPUTS, y=LABELS)
    content = bytearray(stream.getvalue())
    place = data.draw(st.integers(0, len(content) - 1))
    if cut:
        del content[place:]
    else:
        content[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    path.write_bytes(content)
    try:
        examples = read_npz(path).examples
    except InputError:
        return
    assert np.array_equal(examples.inputs, INPUTS)
    assert np.array_equal(examples.labels, LABELS)


def test_class_names_that_no_file_could_hold(save):
    names = np.array(["a", "b\ud800"])
    with pytest.raises(InputError, match=r"class name 'b\\ud800' is not valid text; rename the class"):
        read_npz(save(inputs=np.zeros((2, 1)), labels=[0, 1], class_names=names))

"""Archives give a data set, or an error that names the array."""

import numpy as np
import pytest

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
    assert (data.name, data.test) == ("toys", None)
    assert np.array_equal(data.examples.inputs, INPUTS)
    assert np.array_equal(data.examples.labels, LABELS)


@pytest.mark.parametrize(("inputs", "labels"), [("test_inputs", "test_labels"), ("X_test", "y_test")])
def test_optional_arrays(save, inputs, labels):
    arrays = {
        "clean_labels": LABELS[::-1],
        "class_names": np.array(["a", "b", "c"]),
        "weights": np.arange(6),
        "labels_worst": LABELS[::-1],
        "labels_": LABELS[:1],
        inputs: INPUTS[:2],
        labels: LABELS[:2],
    }
    data = read_npz(save(X=INPUTS, y=LABELS, **arrays))
    examples = data.examples
    assert examples.class_names == ("a", "b", "c")
    assert np.array_equal(examples.clean_labels, LABELS[::-1])
    assert examples.weights is not None
    assert examples.weights.tolist() == [0, 1, 2, 3, 4, 5]
    assert list(examples.label_sets) == ["worst"]
    assert data.test is not None
    assert np.array_equal(data.test.inputs, INPUTS[:2])
    assert data.test.labels.tolist() == [0, 1]


def test_strings_mean_the_same_class_in_both_parts(save):
    arrays = {"X": INPUTS, "y": np.array(list("abcabc")), "X_test": INPUTS[:2]}
    test = read_npz(save(**arrays, y_test=np.array(["c", "b"]))).test
    assert test is not None
    assert test.labels.tolist() == [2, 1]
    with pytest.raises(InputError, match="row 1 is d"):
        read_npz(save(**arrays, y_test=np.array(["c", "d"])))


def test_inputs_alone_are_enough_to_predict(save):
    path = save(X=INPUTS.astype(np.float64), X_test=INPUTS[:2])
    assert np.array_equal(read_npz_inputs(path), INPUTS)
    assert np.array_equal(read_npz_inputs(path, test=True), INPUTS[:2])


@pytest.mark.parametrize(
    ("arrays", "word"),
    [
        ({"X": INPUTS, "target": LABELS}, "'labels'.* X, target"),
        ({"y": LABELS}, "'inputs'"),
        ({}, "'inputs'"),
        ({"X": INPUTS, "y": LABELS, "X_test": INPUTS}, "'test_labels'"),
        ({"X": INPUTS, "y": LABELS, "y_test": LABELS}, "'test_inputs'"),
        ({"X": INPUTS, "y": LABELS.astype(object)}, "'y'.*numpy.savez"),
        ({"X": INPUTS, "y": LABELS - 1}, "row 0"),
        ({"X": INPUTS, "y": LABELS, "class_names": np.arange(3)}, "class_names"),
        ({"X": INPUTS, "y": LABELS, "weights": LABELS[:2]}, "weights"),
        ({"X": INPUTS, "y": LABELS, "labels_a": LABELS[:2]}, "2 a labels"),
    ],
)
def test_bad_archives(save, arrays, word):
    path = save(**arrays)
    with pytest.raises(InputError, match=f"^{path}: .*{word}"):
        read_npz(path)


def test_files_that_are_not_archives(tmp_path):
    single, text, empty = (tmp_path / f"{name}.npz" for name in ("single", "text", "empty"))
    with single.open("wb") as file:
        np.save(file, INPUTS)
    text.write_text("inputs, labels")
    empty.touch()
    for path in (single, text, empty, tmp_path / "absent.npz", tmp_path):
        with pytest.raises(InputError, match=rf"^{path}: .*numpy\.savez"):
            read_npz(path)


def test_missing_numbers(tmp_path):
    path = tmp_path / "gaps.npz"
    inputs = np.array([[1, np.nan], [2, 5], [3, 7]])
    np.savez(path, X=inputs, y=[0, 1, 0], X_test=inputs[:1], y_test=[0])
    data = read_npz(path)
    assert data.examples.inputs[0].tolist() == data.test.inputs[0].tolist() == [1, 6, 1]
    assert read_npz_inputs(path, True, data.table).tolist() == [[1, 6, 1]]

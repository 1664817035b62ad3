"""DataFrames with labels of any kind."""

import numpy as np
import pandas as pd
import pytest

from noiselimit.data.catalogue import as_data_set
from noiselimit.data.examples import DataSet
from noiselimit.data.table_file import frame_data_set
from noiselimit.errors import InputError

FRAME = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "c": list("aabbaa")})


@pytest.mark.parametrize(
    ("labels", "names", "encoded"),
    [
        ([2, 10, 1, 1, 2, 10], ("1", "2", "10"), [1, 2, 0, 0, 1, 2]),
        ([-1, 1, -1, 1, -1, 1], ("-1", "1"), [0, 1, 0, 1, 0, 1]),
        ([1.0, 3.0, 1.0, 3.0, 3.0, 1.0], ("1", "3"), [0, 1, 0, 1, 1, 0]),
        (list("uvuvuü"), ("u", "v", "ü"), [0, 1, 0, 1, 0, 2]),
        ([True, False] * 3, ("False", "True"), [1, 0] * 3),
        (pd.Categorical(["no", "yes"] * 3), ("no", "yes"), [0, 1] * 3),
    ],
)
def test_classes_are_the_distinct_labels_in_order(labels, names, encoded):
    data = frame_data_set(FRAME, labels)
    assert data.examples.class_names == names
    assert data.examples.labels.tolist() == encoded
    assert data.table is not None
    assert np.array_equal(data.examples.inputs, data.table.encode(FRAME))


def test_row_numbers_of_series_do_not_matter():
    labels = pd.Series(list("xyxyxy"), index=[5, 4, 3, 2, 1, 0])
    assert frame_data_set(FRAME, labels).examples.labels.tolist() == [0, 1, 0, 1, 0, 1]


def test_clean_labels_and_weights():
    clean = ["1", "2", "2", "2", "1", "1"]
    examples = frame_data_set(
        FRAME, [1, 2, 1, 2, 1, 2], clean_labels=clean, weights=[0, 1, 2, 3, 4, 5]
    ).examples
    assert examples.clean_labels is not None
    assert examples.clean_labels.tolist() == [0, 1, 1, 1, 0, 0]
    assert examples.weights is not None
    assert examples.weights.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_pair_of_frame_and_labels_is_a_table():
    data = as_data_set((FRAME, [1, 2, 1, 2, 1, 2]))
    assert data.table is not None
    assert data.table.feature_names == ("x", "c=a", "c=b")


def test_fingerprints_tell_names_of_columns_apart():
    labels = [0, 1, 0, 1, 0, 1]
    first, same = frame_data_set(FRAME, labels), frame_data_set(FRAME.copy(), labels, name="other")
    renamed = frame_data_set(FRAME.rename(columns={"x": "z"}), labels)
    assert first.fingerprint == same.fingerprint != renamed.fingerprint
    assert renamed.examples.fingerprint == first.examples.fingerprint
    assert DataSet("", first.examples).fingerprint != first.fingerprint


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"labels": [0, 1]}, "there are 6 inputs but 2 labels; give one label per input"),
        ({"labels": range(6)}, "column 'label' has 6 different values in 6 rows, so it holds no classes"),
        ({"labels": [1] * 6}, "there is only one class"),
        ({"labels": [1, 1, None, 2, 2, 2]}, "column 'label' has no label in row 2; fill it in"),
        ({"labels": ["a", "", "b", "a", "a", "b"]}, "column 'label' has no label in row 1; fill it in"),
        ({"labels": [1, 2, 1, 0.5, 2, 1]}, "column 'label' has 0.5 in row 3, which is no class"),
        ({"labels": [1, 2, 1, np.inf, 2, 1]}, "column 'label' has inf in row 3, which is no class"),
        ({"labels": pd.to_datetime(["2020-01-01"] * 6)}, "column 'label' holds dates or times"),
        (
            {"clean_labels": [0, 1, 0, 1, 7, 8]},
            "column 'clean label' has '7' in row 4, which no given label is",
        ),
        ({"clean_labels": [0, 1]}, "there are 6 inputs but 2 clean labels"),
        ({"weights": [1, 2, 3, 4, 5, "x"]}, "column 'weight' .* in row 5; give a number"),
        ({"weights": [1, 2, 3, 4, 5, -1]}, "the weight in row 5 is -1.0; give a finite number ≥ 0"),
    ],
)
def test_what_labels_may_not_be(arguments, sentence):
    with pytest.raises(InputError, match=f"^t.csv: {sentence}"):
        frame_data_set(FRAME, **{"labels": [0, 1, 0, 1, 0, 1], "source": "t.csv", **arguments})


def test_more_classes_than_half_of_many_rows():
    frame = pd.DataFrame({"x": np.arange(30.0)})
    with pytest.raises(InputError, match="has 20 different values in 30 rows, so it holds no classes"):
        frame_data_set(frame, np.arange(30) % 20)
    assert frame_data_set(frame, np.arange(30) % 15).examples.classes == 15

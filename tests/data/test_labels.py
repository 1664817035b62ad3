"""Labels of every usual type become numbers, or a sentence names the row."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.arrays import encode_labels, find_class_names, read_labels
from noiselimit.errors import InputError


@pytest.mark.parametrize(
    "values",
    [
        [0, 2, 1],
        (0, 2, 1),
        [0.0, 2.0, 1.0],
        np.array([0, 2, 1], np.uint8),
        np.array([0, 2, 1], np.uint64),
        np.array([0.0, 2.0, 1.0]),
        np.array([0, 2, 1], object),
        torch.tensor([0, 2, 1]),
        pd.Series([0, 2, 1]),
    ],
)
def test_whole_numbers_of_any_type(values):
    labels = read_labels(values, "y")
    assert labels.dtype == np.int64
    assert labels.tolist() == [0, 2, 1]


def test_true_and_false_are_classes_one_and_zero():
    assert read_labels(np.array([True, False]), "y").tolist() == [1, 0]


@pytest.mark.parametrize(
    "values", [["b", "a"], np.array(["b", "a"]), np.array(["b", "a"], object), pd.Series(["b", "a"])]
)
def test_strings_are_numbered_in_sorted_order(values):
    labels = read_labels(values, "y")
    names = find_class_names(labels, "y")
    assert names == ("a", "b")
    assert encode_labels(labels, names, "y").tolist() == [1, 0]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([0, 1, -3], "label in row 2 is -3; labels must be whole numbers from 0 to k-1, so renumber"),
        (np.array([0, -1]), "label in row 1 is -1; labels must be"),
        ([0, 1.5], "label in row 1 is 1.5; labels must be"),
        ([0, np.inf], "label in row 1 is inf; labels must be"),
        ([0.0, 1e300], r"label in row 1 is 1e\+300; labels must be"),
        (np.array([0, 2**63], np.uint64), "label in row 1 is 9223372036854775808; labels must be"),
        ([0, 2**70], "labels have type object; give whole numbers"),
        ([0, None], "label in row 1 is missing; fill it in"),
        (np.array([0, np.nan]), "label in row 1 is missing"),
        (["a", float("nan")], "label in row 1 is missing"),
        (pd.Series(["a", None]), "label in row 1 is missing"),
        (["a", ""], "label in row 1 is missing"),
        (["a", 3], "label in row 1 has type int; give whole numbers only or strings only"),
        ([0, "a"], "label in row 1 has type str"),
        ([0, [1]], "label in row 1 has type list"),
        (np.zeros((3, 1), int), r"labels have shape \[3, 1\]; give one label per example"),
        (np.zeros(3, complex), "labels have type complex128; give whole numbers or strings"),
        (np.array([b"a", b"b"]), r"labels have type \|S1; give whole numbers or strings"),
        (torch.tensor([0.0, 1.0], requires_grad=True), "labels cannot become an array"),
    ],
)
def test_what_cannot_be_labels(values, sentence):
    with pytest.raises(InputError, match=f"^y: {sentence}"):
        read_labels(values, "y")


@given(st.sets(st.integers(0, 10**12), min_size=1, max_size=8))
def test_numbers_need_every_class_from_zero_on(numbers):
    labels = np.array(sorted(numbers))
    gap = next(number for number in range(len(labels) + 1) if number not in numbers)
    if gap == len(labels):
        assert find_class_names(labels, "y") == tuple(str(number) for number in range(len(labels)))
    else:
        with pytest.raises(InputError, match=f"^y: class {gap} has no example; add one or renumber"):
            find_class_names(labels, "y")


@pytest.mark.parametrize("values", [[0, 1, 7], ["a", "b", "7"]])
def test_a_label_of_no_class_is_named(values):
    with pytest.raises(
        InputError, match=r"^y: clean label in row 2 is 7, which is none of the 2 classes; correct"
    ):
        encode_labels(read_labels(values, "y"), ("a", "b"), "y", "clean label")


def test_half_a_surrogate_pair_is_no_class_name():
    with pytest.raises(InputError, match="is not valid text; rename the class"):
        read_labels(["a", "\ud800x"], "toys")

"""Inputs and labels of every usual type reach canonical form, or an error names the row."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array

from noiselimit.data.arrays import (
    LazyInputs,
    View,
    canonical_inputs,
    encode_labels,
    find_class_names,
    highest_value,
    read_labels,
)
from noiselimit.errors import InputError


@pytest.mark.parametrize(
    ("given_shape", "expected"),
    [
        ((5, 7), (5, 7)),
        ((5, 8, 9), (5, 1, 8, 9)),
        ((5, 8, 9, 3), (5, 3, 8, 9)),
        ((5, 3, 8, 4), (5, 3, 8, 4)),
        ((5, 1, 8, 8), (5, 1, 8, 8)),
    ],
)
def test_shapes(given_shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    values = np.arange(np.prod(given_shape), dtype=np.float32).reshape(given_shape)
    inputs = canonical_inputs(values)
    assert inputs.shape == expected
    if given_shape[-1] == 3:  # the values move along with their channels
        assert inputs[1, 2, 4, 5] == values[1, 4, 5, 2]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (np.full((2, 3, 3), 255, np.int64), np.uint8),
        (np.full((2, 3, 3), 256, np.int64), np.float32),
        (np.full((2, 3, 3), -1, np.int16), np.float32),
        (np.ones((2, 3, 3), bool), np.uint8),
        (np.ones((2, 3, 3), np.float64), np.float32),
        (np.ones((2, 3), np.uint8), np.float32),
        ([[1, 2], [3, 4]], np.float32),
        (torch.ones(2, 3), np.float32),
    ],
)
def test_types(values: Any, dtype: type) -> None:
    inputs = canonical_inputs(values)
    assert inputs.dtype == dtype
    assert np.array_equal(inputs.ravel(), np.asarray(values).ravel())


@given(hnp.arrays(np.float64, (4, 3), elements=st.floats(-1e30, 1e30)))
def test_finite_vectors_are_rounded_and_not_modified(values: np.ndarray) -> None:
    before = values.copy()
    assert np.array_equal(canonical_inputs(values), values.astype(np.float32))
    assert np.array_equal(values, before)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_a_value_that_float32_cannot_hold_is_named_with_its_row(bad: float) -> None:
    values = np.zeros((6, 4))
    values[4, 1] = bad
    with pytest.raises(InputError, match=r"^file\.npz: .*row 4 .*float32" if bad == 1e300 else "row 4"):
        canonical_inputs(values, "file.npz")


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (np.zeros(5), r"shape \[5\]"),
        (np.zeros((2, 2, 2, 2, 2)), "shape"),
        (np.zeros((0, 5)), "empty"),
        (np.zeros((5, 0)), "empty"),
        (np.zeros((2, 2), complex), "complex128"),
        (np.array([["a", "b"]]), "type <U1"),
        ([[1, 2], [3]], "array"),
        (torch.ones(2, 2, requires_grad=True), r"\.detach\(\)"),
        (csr_array(np.eye(2)), r"\.toarray\(\)"),
        (pd.DataFrame({0: [1.0], 1: ["a"]}), "column"),
    ],
)
def test_what_cannot_be_inputs(values: Any, word: str) -> None:
    with pytest.raises(InputError, match=word):
        canonical_inputs(values)


@pytest.mark.parametrize(
    "values",
    [
        [False, 2, True],
        [0.0, 2.0, 1.0],
        np.array([0, 2, 1], np.uint8),
        np.array([0, 2, 1], np.uint64),
        np.array([0, 2, 1], object),
        [torch.tensor(0), torch.tensor(2), torch.tensor(1)],
        torch.tensor([0, 2, 1]),
        pd.Series([0, 2, 1]),
    ],
)
def test_whole_numbers_of_any_type(values: Any) -> None:
    labels = read_labels(values, "y")
    assert labels.dtype == np.int64
    assert labels.tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    "values", [["b", "a"], np.array(["b", "a"]), np.array(["b", "a"], object), pd.Series(["b", "a"])]
)
def test_strings_are_numbered_in_sorted_order(values: Any) -> None:
    labels = read_labels(values, "y")
    names = find_class_names(labels, "y")
    assert names == ("a", "b")
    assert encode_labels(labels, names, "y").tolist() == [1, 0]


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([0, 1, -3], "row 2 is -3"),
        ([0, 1.5], "row 1 is 1.5"),
        ([0, np.inf], "row 1 is inf"),
        ([0.0, 1e300], "row 1"),
        (np.array([0, 2**63], np.uint64), "row 1 is 9223372036854775808"),
        ([0, 2**70], "type object"),
        ([0, None], "row 1 is missing"),
        (np.array([0, np.nan]), "row 1 is missing"),
        (pd.Series(["a", None]), "row 1 is missing"),
        (["a", ""], "row 1 is missing"),
        (["a", 3], "row 1 has type int"),
        ([0, [1]], "row 1 has type list"),
        (np.zeros((3, 1), int), r"shape \[3, 1\]"),
        (np.array([b"a", b"b"]), "type"),
    ],
)
def test_what_cannot_be_labels(values: Any, word: str) -> None:
    with pytest.raises(InputError, match=f"^y: .*{re.escape(word) if 'shape' not in word else word}"):
        read_labels(values, "y")


@given(st.sets(st.integers(0, 10**12), min_size=1, max_size=8))
def test_numbers_need_every_class_from_zero_on(numbers: set[int]) -> None:
    labels = np.array(sorted(numbers))
    gap = next(number for number in range(len(labels) + 1) if number not in numbers)
    if gap == len(labels):
        assert find_class_names(labels, "y") == tuple(str(number) for number in range(len(labels)))
    else:
        with pytest.raises(InputError, match=f"class {gap} "):
            find_class_names(labels, "y")


@pytest.mark.parametrize("values", [[0, 1, 7], ["a", "b", "7"]])
def test_a_label_of_no_class_is_named(values: Any) -> None:
    with pytest.raises(InputError, match="clean label in row 2 is 7"):
        encode_labels(read_labels(values, "y"), ("a", "b"), "y", "clean label")


class Shades(LazyInputs):
    """Pictures of one shade each."""

    digest = b"shades"

    def __init__(self, shades: Sequence[int] = range(5)) -> None:
        self.shades = shades

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.shades), 1, 2, 2)

    def read(self, row: int, view: View = View()) -> np.ndarray:  # noqa: B008 - frozen
        return np.full((1, 2, 2), self.shades[row], np.uint8)

    def take(self, rows: Sequence[int]) -> "Shades":
        return Shades([self.shades[row] for row in rows])


def test_lazy_inputs_are_indexed_like_arrays() -> None:
    inputs = Shades()
    assert len(inputs) == 5
    assert inputs[3].max() == 3
    assert inputs[1:3][:, 0, 0, 0].tolist() == [1, 2]
    assert inputs[np.array([4, 0])][:, 0, 0, 0].tolist() == [4, 0]


def test_the_highest_value_is_finite() -> None:
    assert highest_value(np.array([[1.0, np.inf]])) == 1
    assert highest_value(Shades()) == 255

"""Inputs of every usual shape and type reach one of two forms, or a sentence."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array

from noiselimit.data.arrays import canonical_inputs
from noiselimit.errors import InputError


@pytest.mark.parametrize(
    ("given_shape", "expected"),
    [
        ((5, 7), (5, 7)),
        ((5, 8, 9), (5, 1, 8, 9)),
        ((5, 8, 9, 3), (5, 3, 8, 9)),
        ((5, 3, 8, 9), (5, 3, 8, 9)),
        ((5, 3, 8, 4), (5, 3, 8, 4)),
        ((5, 1, 8, 8), (5, 1, 8, 8)),
    ],
)
def test_shapes(given_shape, expected):
    assert canonical_inputs(np.zeros(given_shape)).shape == expected


def test_channels_last_moves_the_values_along():
    images = np.arange(2 * 5 * 6 * 3, dtype=np.uint8).reshape(2, 5, 6, 3)
    assert canonical_inputs(images)[1, 2, 4, 5] == images[1, 4, 5, 2]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (np.full((2, 3, 3), 255, np.int64), np.uint8),
        (np.full((2, 3, 3), 256, np.int64), np.float32),
        (np.full((2, 3, 3), -1, np.int16), np.float32),
        (np.ones((2, 3, 3), bool), np.uint8),
        (np.ones((2, 3, 3), np.float64), np.float32),
        (np.ones((2, 3, 3), np.float16), np.float32),
        (np.ones((2, 3), np.uint8), np.float32),
        ([[1, 2], [3, 4]], np.float32),
        (torch.ones(2, 3), np.float32),
    ],
)
def test_types(values, dtype):
    inputs = canonical_inputs(values)
    assert inputs.dtype == dtype
    assert np.array_equal(inputs.ravel(), np.asarray(values).ravel())


@given(hnp.arrays(np.float64, (4, 3), elements=st.floats(-1e30, 1e30)))
def test_finite_vectors_are_rounded_to_float32_and_left_alone(values):
    before = values.copy()
    assert np.array_equal(canonical_inputs(values), values.astype(np.float32))
    assert np.array_equal(values, before)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_named_with_its_row(bad):
    values = np.zeros((6, 4))
    values[4, 1] = bad
    with pytest.raises(InputError, match=r"^file\.npz: row 4 holds NaN or an infinite value; repair"):
        canonical_inputs(values, "file.npz")


def test_overflow_is_told_from_infinity():
    values = np.zeros((6, 4))
    values[2, 3] = 1e300
    with pytest.raises(InputError, match=r"row 2 overflows float32; rescale"):
        canonical_inputs(values)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (np.zeros(5), r"shape \[5\]; give \[n, features\]"),
        (np.zeros((2, 2, 2, 2, 2)), r"shape \[2, 2, 2, 2, 2\]; give"),
        (np.float64(3), r"shape \[\]; give"),
        (np.zeros((0, 5)), r"shape \[0, 5\] are empty; give at least one"),
        (np.zeros((5, 0)), r"shape \[5, 0\] are empty"),
        (np.zeros((2, 2), complex), r"type complex128; convert them to real numbers"),
        (np.array([[None, 1]]), r"type object; convert"),
        (np.array([["a", "b"]]), r"type <U1; convert"),
        ([[1, 2], [3]], r"cannot become an array \(.*\); give a NumPy array"),
        (torch.ones(2, 2, requires_grad=True), r"cannot become an array \(.*\); give \.detach\(\)\.cpu\(\)"),
        (csr_array(np.eye(2)), r"type object; give \.toarray\(\)"),
        (
            pd.DataFrame({0: [1.0], 1: ["a"]}),
            r"type object; convert every column .* or give all columns names",
        ),
    ],
)
def test_what_cannot_be_inputs(values, sentence):
    with pytest.raises(InputError, match=sentence):
        canonical_inputs(values)

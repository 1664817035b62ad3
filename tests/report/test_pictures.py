import base64
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from noiselimit.errors import InputError
from noiselimit.report.html import data_uri


def decode(uri: str) -> np.ndarray:
    head, body = uri.split(",", 1)
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(body, validate=True))))


sides = st.integers(1, 12)


@given(arrays.arrays(np.uint8, st.tuples(st.just(1), sides, sides)))
def test_grey_bytes_come_back_unchanged(image: np.ndarray) -> None:
    np.testing.assert_array_equal(decode(data_uri(image)), image[0])
    np.testing.assert_array_equal(decode(data_uri(image[0])), image[0])


@given(arrays.arrays(np.uint8, st.tuples(st.just(3), sides, sides)))
def test_colours_come_back_unchanged(image: np.ndarray) -> None:
    np.testing.assert_array_equal(decode(data_uri(image)), image.transpose(1, 2, 0))


def test_unit_floats_are_not_stretched() -> None:
    image = np.array([[0.0, 0.2], [0.4, 0.6]], dtype=np.float32)
    np.testing.assert_array_equal(decode(data_uri(image)), [[0, 51], [102, 153]])


def test_other_numbers_are_stretched_and_nan_is_black() -> None:
    image = np.array([[-1.0, np.nan], [1.0, 0.2]])
    np.testing.assert_array_equal(decode(data_uri(image)), [[0, 0], [255, 153]])
    np.testing.assert_array_equal(decode(data_uri(np.array([[0, 16], [8, 4]]))), [[0, 255], [128, 64]])


@pytest.mark.parametrize(("value", "grey"), [(np.nan, 0), (7.0, 0), (1.0, 255)])
def test_constant_pictures(value: float, grey: int) -> None:
    np.testing.assert_array_equal(decode(data_uri(np.full((2, 2), value))), np.full((2, 2), grey))


def test_large_pictures_are_reduced_in_proportion() -> None:
    assert decode(data_uri(np.zeros((3, 320, 640), np.uint8))).shape == (80, 160, 3)


@pytest.mark.parametrize("shape", [(2, 8, 8), (8,), (1, 1, 8, 8), (1, 0, 8)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="a picture has shape"):
        data_uri(np.zeros(shape, np.uint8))

"""The same arrays as NumPy's own reader gives, and a reason for those that it should not give."""

import io
import struct
from contextlib import suppress

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.npz import NotAnArrayError, read_npy

TYPES = st.one_of(
    arrays.boolean_dtypes(),
    arrays.integer_dtypes(endianness="?"),
    arrays.floating_dtypes(endianness="?"),
    arrays.complex_number_dtypes(endianness="?"),
    arrays.unicode_string_dtypes(endianness="?"),
    arrays.byte_string_dtypes(),
)


def saved(array: np.ndarray, version: tuple[int, int] | None = None) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version)
    return file.getvalue()


def read(content: bytes) -> np.ndarray:
    return read_npy(io.BytesIO(content), len(content))


@given(
    array=TYPES.flatmap(lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, min_side=0))),
    transposed=st.booleans(),
    version=st.sampled_from([(1, 0), (2, 0), (3, 0)]),
    behind=st.binary(max_size=9),
)
def test_what_numpy_wrote(array, transposed, version, behind):
    array = array.T if transposed else array
    content = saved(array, version)
    found = read(content + behind)
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert found.tobytes() == array.tobytes()


@given(place=st.integers(0, 200), value=st.integers(0, 255), cut=st.integers(0, 200))
def test_damage_is_told_or_harmless(place, value, cut):
    content = bytearray(saved(np.arange(9.0)))
    content[place % len(content)] = value
    for each in (bytes(content), bytes(content[:cut])):
        with suppress(NotAnArrayError):
            assert read(each).nbytes <= len(each)


def with_header(text: str, values: bytes = b"") -> bytes:
    header = text.encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + values


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no NumPy array"),
        (b"\x93NUMPY\4\0", "no NumPy array"),
        (b"\x93NUMPY\2\0\xff\xff\xff\xff", "header is damaged"),
        (with_header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"), "Python objects"),
        (with_header("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,)}"), "its type is"),
        (with_header("{'descr': '<i4', 'fortran_order': 1, 'shape': (1,)}"), "header is damaged"),
        (with_header("{'descr': '<i4', 'fortran_order': False, 'shape': (-1,)}"), "header is damaged"),
        (with_header("{'descr': '<i4', 'fortran_order': False, 'shape': (True,)}"), "header is damaged"),
        (with_header("[" * 5000), "header is damaged"),
        (with_header("__import__('os')"), "header is damaged"),
        (with_header("{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}", bytes(7)), "8 bytes but 7"),
        (with_header(f"{{'descr': '<i4', 'fortran_order': False, 'shape': (0, {2**62})}}"), "not possible"),
        (with_header("{'descr': '<U1', 'fortran_order': False, 'shape': (1,)}", b"\xff" * 4), "no Unicode"),
    ],
)
def test_reasons(content, reason):
    with pytest.raises(NotAnArrayError, match=reason):
        read(content)


def test_python_2_wrote_long_numbers():
    content = with_header("{'descr': '<i2', 'fortran_order': False, 'shape': (2L, 1L), }", b"\1\0\2\0")
    assert read(content).tolist() == [[1], [2]]

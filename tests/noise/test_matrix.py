"""Transition matrices from Python and from files."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.errors import InputError
from noiselimit.noise import MatrixNoise, parse_noise

ROWS = [[0.75, 0.25], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("noise.csv", "0.75, 0.25\n0.5,0.5\n"),
        ("noise.csv", "\n0.75 0.25\n\n  0.5\t0.5"),
        ("noise.txt", "0.75  0.25\r\n0.5 , 0.5\r\n"),
        ("noise.json", json.dumps(ROWS)),
        ("noise.npy", np.array(ROWS)),
        ("noise.npy", np.array(ROWS, np.float16)),
    ],
)
def test_files(tmp_path, name, content):
    path = tmp_path / name
    np.save(path, content) if isinstance(content, np.ndarray) else path.write_text(content)
    assert parse_noise(f"matrix:{path}") == MatrixNoise(ROWS)


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("a.csv", b"0.5,0.5\n0.5,0.4\n", "row 1 sums to 0.9"),
        ("a.csv", b"1,0\n1.5,-0.5", "row 1"),
        ("a.csv", b"1,0\n1,nan", "row 1 sums to nan"),
        ("a.csv", b"1,0\n1", "equally long"),
        ("a.csv", b"1,0,0\n1,0,0", "[2, 3]"),
        ("a.csv", b"", "[0]"),
        ("a.csv", b"1,zero\n0,1", "zero"),
        ("a.csv", b"\xff\xfe", "utf-8"),
        ("a.json", b"[" * 100_000, "a.json"),
        ("a.json", b'{"a": 1}', "a.json"),
        ("a.json", b"3", "[]"),
        ("a.npy", b"\x93NUMPY", "a.npy"),
        ("a.xlsx", b"", ".csv"),
    ],
)
def test_files_without_a_transition_matrix(tmp_path, name, content, word):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        parse_noise(f"matrix:{path}")
    assert str(caught.value).startswith(f"{path}: ")
    assert word in str(caught.value)


def test_the_size_must_be_that_of_the_data():
    with pytest.raises(InputError, match="10 × 10"):
        MatrixNoise(ROWS).transition("abcdefghij")


@given(st.integers(2, 200), st.floats(0, 1))
def test_rows_of_six_digits_are_accepted_and_kept(classes, probability):
    rows = np.full((classes, classes), probability / (classes - 1))
    np.fill_diagonal(rows, 1 - probability)
    printed = np.array([[float(f"{value:.6f}") for value in row] for row in rows])
    noise = MatrixNoise(printed)
    assert np.array_equal(noise.parameter, printed)
    assert np.allclose(noise.transition([str(n) for n in range(classes)]).sum(axis=1), 1, rtol=0, atol=1e-12)

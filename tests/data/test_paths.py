"""File names by the million."""

import os
import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.pictures import Paths

NAMES = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))


@given(names=NAMES)
def test_names_come_back_in_order(names):
    paths = Paths(names)
    assert len(paths) == len(names)
    assert list(paths) == names
    assert list(pickle.loads(pickle.dumps(paths))) == names


@given(names=NAMES, data=st.data())
def test_some_of_them(names, data):
    rows = data.draw(st.lists(st.integers(0, len(names) - 1))) if names else []
    assert list(Paths(names).take(rows)) == [names[row] for row in rows]
    start, stop = data.draw(st.integers(-9, 9)), data.draw(st.integers(-9, 9))
    assert list(Paths(names)[start:stop]) == names[start:stop]


def test_numbers_count_from_the_end_too_and_end_somewhere():
    paths = Paths(["a.jpg", "b.jpg"])
    assert paths[-1] == "b.jpg"
    with pytest.raises(IndexError):
        paths[2]


def test_a_name_that_is_not_text_finds_its_file_and_can_be_written():
    name = os.fsdecode(b"caf\xe9.jpg")
    paths = Paths([name])
    assert paths.encoded(0) == b"caf\xe9.jpg"
    assert paths[0].encode() == "caf\N{REPLACEMENT CHARACTER}.jpg".encode()


def test_a_name_costs_its_letters_and_eight_bytes():
    paths = Paths(f"{row:010}" for row in range(10_000))
    assert sys.getsizeof(paths.blob) + paths.ends.nbytes < 10_000 * 19

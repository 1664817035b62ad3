"""Plain pickles come back as they were; nothing that a hostile one asks for happens."""

import contextlib
import io
import os
import pickle
import pickletools
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from noiselimit.data import safe_pickle
from noiselimit.data.safe_pickle import plain_value, read_pickle
from noiselimit.errors import InputError

NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.booleans() | st.none()
PLAIN = st.recursive(
    NUMBERS | st.text(max_size=9) | st.binary(max_size=300),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)
NUMERIC = st.sampled_from(["?", "u1", "i1", "<i2", ">u4", "<i8", "<f2", ">f8"])


@given(PLAIN, st.sampled_from([2, 3, 4]))
def test_plain_values_come_back(value, protocol):
    assert plain_value(pickle.dumps(value, protocol), "it") == value


@given(
    arrays.arrays(NUMERIC, arrays.array_shapes(min_dims=0, min_side=0)),
    st.sampled_from([2, 3, 4]),
    st.booleans(),
)
def test_arrays_come_back(array, protocol, column_major):
    array = np.asfortranarray(array) if column_major else array
    first, second = plain_value(pickle.dumps([array, array], protocol), "it")
    assert first is second  # the memo serves the finished array
    assert first.dtype == array.dtype
    assert first.shape == array.shape
    assert first.tobytes() == array.tobytes()


def test_both_names_of_numpys_core_are_known():
    content = pickle.dumps(np.arange(3), 2)
    for name in (b"numpy.core.multiarray", b"numpy._core.multiarray"):
        respelled = content.replace(b"numpy._core.multiarray", name)
        assert plain_value(respelled, "it").tolist() == [0, 1, 2]


@given(st.data())
def test_a_damaged_pickle_is_one_sentence(data):
    content = bytearray(pickle.dumps({"data": np.arange(4, dtype=np.uint8), "labels": [1, "two", 3.0]}, 2))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(InputError):  # any other exception fails
        plain_value(bytes(content[: data.draw(st.integers(0, len(content)))]), "it")


class Runs:
    """Unpickles by a call, which Python's own unpickler would make."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


class HasState:
    """Unpickles by being given its state."""

    def __init__(self):
        self.anything = 1

    def __setstate__(self, state):
        os.system("touch marker")


def objects(value) -> np.ndarray:
    array = np.empty(1, dtype=object)
    array[0] = value
    return array


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """Values whose unpickling creates the file `marker` in the current folder."""
    monkeypatch.chdir(tmp_path)
    command = Runs(os.system, "touch marker")
    return {
        "system": command,
        "eval": Runs(eval, "open('marker', 'w').close()"),
        "nested": {b"data": np.zeros((1, 3072), np.uint8), b"labels": [0, [{b"x": command}]]},
        "objects": objects(command),
        "argument": Runs(np.frombuffer, command),
        "state": HasState(),
    }


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("kind", ["system", "eval", "nested", "objects", "argument", "state"])
def test_nothing_runs(hostile, tmp_path, kind, protocol):
    content = pickle.dumps(hostile[kind], protocol)
    with pytest.raises(
        InputError, match=r"^evil: refused because it holds .*; fetch the official file again"
    ):
        plain_value(content, "evil")
    assert not (tmp_path / "marker").exists()
    try:
        pickle.loads(content)
    except TypeError:
        assert kind == "argument"  # runs first, fails then
    assert (tmp_path / "marker").exists(), "the pickle is not hostile at all"


RECONSTRUCT = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n"


def array_state(dtype: bytes) -> bytes:
    """A pickle of one array whose type is described by these instructions."""
    return (
        RECONSTRUCT
        + b"cnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01K\x01\x85"
        + dtype
        + (b"\x89U\x08" + bytes(8) + b"tb.")
    )


DTYPE = b"cnumpy\ndtype\nU\x02%s\x89\x88\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
BUILT_IN = b"\x80\x02c__builtin__\neval\n"


@pytest.mark.parametrize(
    ("content", "held"),
    [
        (b"(S'touch marker'\nios\nsystem\n.", "the instruction STRING"),
        (b"(U\x0ctouch markerios\nsystem\n.", "the instruction INST"),
        (b"(cos\nsystem\nU\x0ctouch markero.", r"the name os\.system"),
        (BUILT_IN + b"U\x011\x85R.", r"the name __builtin__\.eval"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.", r"the name os\.system"),
        (b"\x80\x04K\x01K\x02\x93.", "a name that is no text"),
        (b"\x80\x02cnumpy\nload\nU\x01x\x85R.", r"the name numpy\.load"),
        (b"\x80\x02cnumpy\nndarray\nK\x09\x85R.", "a call that makes no array"),
        (b"\x80\x02cnumpy\nndarray\nK\x09\x85\x81.", "the instruction NEWOBJ"),
        (
            b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\ndtype\nK\x00\x85U\x01b\x87R.",
            "a call that",
        ),
        (b"\x80\x02cnumpy\ndtype\nU\x02O8\x89\x88\x87R.", "a call that makes no array"),
        (b"\x80\x02cnumpy\ndtype\nU\x05u1,O8\x89\x88\x87R.", "a call that makes no array"),
        (b"\x80\x02K\x01K\x02\x85R.", "a call that makes no array"),
        (b"\x80\x02cnumpy\nndarray\n}U\x0c__setstate__K\x01sb.", "a state that is not"),
        (b"\x80\x02]}U\x01aK\x01sb.", "a state that is not"),
        (array_state(DTYPE.replace(b"NNN", b"N)}") % b"i8"), "a state that is not"),
        (array_state(b"cnumpy\ndtype\nU\x02i8\x89\x88\x87R"), "a state that is not"),
        (array_state(b"U\x02O8"), "a state that is not"),
        (b"\x80\x02\x82\x01.", "the instruction EXT1"),
        (b"\x80\x02\x84\x01\x00\x00\x00.", "the instruction EXT4"),
        (b"Pname\n.", "the instruction PERSID"),
        (b"\x80\x02U\x01aQ.", "the instruction BINPERSID"),
        (b"\x80\x02}(K\x01K\x02u.", "a dictionary key of type int"),
        (b"\x80\x02})K\x02s.", "a dictionary key of type tuple"),
        (b"\x80\x02}K\x01a.", "items that are put into something other than a list"),
        (b"\x80\x02]U\x01aK\x01s.", "items that are put into something other than a dictionary"),
        (b"\x80\x05\x96" + bytes(8) + b".", "the instruction BYTEARRAY8"),
        (
            b"\x80\x02X\x04\x00\x00\x00" + b"abcdq\x00c_codecs\nencode\nq\x010" + b"h\x01h\x00U\x01x\x86R.",
            "POP",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(content, held, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    list(pickletools.genops(content))  # well-formed: it is refused for what it says
    with pytest.raises(InputError, match=rf"^it: refused because it holds .*{held}"):
        plain_value(content, "it")
    assert not list(tmp_path.iterdir())


def test_the_handmade_array_is_refused_for_its_type_alone():
    assert plain_value(array_state(DTYPE % b"i8"), "it").tolist() == [0]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x02",
        b"\x80\x02.",
        b"\x80\x02t.",
        b"\x80\x02h\x05.",
        b"\x80\x02X\xff\xff\xff\xff.",
        b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b".",
        b"\x80\x02}(U\x01au.",
        array_state(DTYPE % b"i4"),
        array_state(DTYPE % b"i8").replace(b"K\x01\x85", b"J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86"),
    ],
)
def test_what_is_cut_off_or_claims_more_than_there_is(content):
    with pytest.raises(InputError, match=r"^it: the pickle is damaged or cut off; fetch the file again\."):
        plain_value(content, "it")


def test_one_text_is_not_turned_into_bytes_again_and_again():
    text = b"X" + struct.pack("<I", 1000) + b"a" * 1000
    start = b"\x80\x02]c_codecs\nencode\nq\x00" + text + b"q\x01X\x06\x00\x00\x00latin1q\x02\x86Ra"
    assert len(plain_value(start + b".", "it")[0]) == 1000
    with pytest.raises(InputError, match="one text over and over"):
        plain_value(start + b"h\x00h\x01h\x02\x86Ra" * 2 + b".", "it")


def test_programs_that_are_far_too_long_stop(monkeypatch):
    monkeypatch.setattr(safe_pickle, "MOST_STEPS", 100)
    with pytest.raises(InputError, match="more than 100 instructions"):
        plain_value(b"\x80\x02" + b"]" * 200 + b".", "it")


def test_lists_within_lists_do_not_exhaust_the_stack():
    value = plain_value(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".", "it")
    assert isinstance(value, list)


def test_files(tmp_path, monkeypatch):
    path = tmp_path / "some"
    with pytest.raises(InputError, match=r"some: cannot be read \(No such file"):
        read_pickle(path)
    stream = io.BytesIO()
    pickle.dump({"a": 1}, stream, 2)
    path.write_bytes(stream.getvalue())
    assert read_pickle(path) == {"a": 1}
    monkeypatch.setattr(safe_pickle, "MOST_BYTES", 3)
    with pytest.raises(
        InputError, match=r"some: cannot be read \(it has more than 0 MiB\); name the right file\."
    ):
        read_pickle(path)

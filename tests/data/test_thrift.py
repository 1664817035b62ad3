"""Thrift's compact form: what stands there is read, and nothing that others could take for something else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data import parquet as thrift
from noiselimit.data.parquet import I32, I64, LIST, STRUCT, TEXT, UNKNOWN, Compact, Shape, size

INNER = Shape(dict)
SHAPE = Shape(dict, {1: INNER, 2: I32, 3: INNER, 4: UNKNOWN})
STOP = b"\x00"


def test_fields_and_where_they_end() -> None:
    content = (
        b"\x1c\x16\x03\x00"  # 1: a struct with -2
        b"\x19\x25\x02\x04"  # 2: a list of two numbers, which are not kept
        b"\x19\x1c\x15\x0a\x00"  # 3: a list of one struct with 5
        b"\x1c\x15\x02\x00"  # 4: a struct of which nothing is kept
        b"\x18\x03abc\x11\x13\x07\x17" + bytes(8) +  # 5 … 8: text, yes, a byte, a fraction
        b"\x06\xc6\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"  # 99, not counted from 8: 2⁶³ - 1
        b"\x00beyond"
    )  # fmt: skip
    reader = Compact(content)
    assert reader.struct(SHAPE) == {
        (1, STRUCT): {(1, I64): -2},
        (2, LIST): None,
        (3, LIST): [{(1, I32): 5}],
        (4, STRUCT): None,
        (5, TEXT): None,
        (6, 1): None,
        (7, 3): None,
        (8, 7): None,
        (99, I64): 2**63 - 1,
    }
    assert content[reader.at :] == b"beyond"


@pytest.mark.parametrize(
    "content",
    [
        b"\x15\x02\x05\x02\x02",  # a field twice
        b"\x05\x80\x80\x08\x02",  # a field beyond 16 bits
        b"\x50",  # an end that is a field
        b"\x1b\x00",  # a map
        b"\x1a\x15\x02",  # a set
        b"\x1c" * 12,  # structs in structs
        b"\x59" + b"\x19" * 12,  # lists in lists
        b"\x29\x1c\x00",  # a list of structs that should be one of numbers
        b"\x29\x16\x02",  # of longer numbers
        b"\x39\x15\x02",  # a list of numbers that should be one of structs
        b"\x16" + b"\xff" * 11,  # a number without end
        b"\x16" + b"\x82" + b"\x80" * 8 + b"\x02",  # 1 and bits beyond 64
        b"\x18\x81\x80\x80\x80\x10a",  # a text of 1 byte and bits beyond 32
        b"\x59\xf5\x81\x80\x80\x80\x10\x02",  # a list likewise
    ],
)
def test_what_others_could_take_differently(content: bytes) -> None:
    with pytest.raises(ValueError, match="is damaged"):
        Compact(content + STOP).struct(SHAPE)


@given(st.binary(max_size=40))
def test_any_bytes(content: bytes) -> None:
    reader = Compact(content)
    try:
        reader.struct(SHAPE)
    except (ValueError, IndexError):
        return
    assert 0 < reader.at <= len(content)


def test_values_without_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """In all structs of a reader together; and each takes at least a byte."""
    monkeypatch.setattr(thrift, "MOST_VALUES", 10)
    reader = Compact(b"\x19\x8c" + bytes(9) + b"\x19\x8c" + bytes(9))
    reader.struct(UNKNOWN)
    with pytest.raises(ValueError, match="in more than 10 values"):
        reader.struct(UNKNOWN)
    with pytest.raises(IndexError):
        Compact(b"\x19\xfc\x7f" + bytes(3)).struct(UNKNOWN)


@pytest.mark.parametrize(("number", "kind"), [(-1, I64), (-1, I32), (2**31, I32), (2**63, I64), (1, TEXT)])
def test_what_is_no_size(number: int, kind: int) -> None:
    with pytest.raises(ValueError, match="is damaged"):
        size({(1, kind): number}, 1, I32 if kind == TEXT else kind)

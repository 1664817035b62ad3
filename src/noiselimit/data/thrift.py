"""Thrift's compact form, in which Parquet tells of columns and pages: structs, lists and numbers.

Libraries read it by what they expect in each place, cut numbers to their width and let the last of several
fields win. This reader goes by the types that stand there, and refuses what the two could take differently.
"""

import mmap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

I32, I64, TEXT, LIST, STRUCT = 5, 6, 8, 9, 12
MOST_VALUES = 15_000_000  # of one reader, which takes ten seconds for them
_BOOLEANS, _BYTE, _NUMBERS, _DOUBLE = (1, 2), 3, (4, I32, I64), 7
_DEEPEST = 8

Struct = dict[tuple[int, int], Any]
"""(field, type) → a number, or what was made of a struct or of each in a list; None for anything else."""


def _nothing(_: Struct) -> None:
    return None


@dataclass(frozen=True)
class Shape:
    """What is known of a struct."""

    make: Callable[[Struct], Any] = _nothing
    """What becomes of it; at once, as what a few bytes tell can take a hundred times the room."""
    fields: "Mapping[int, Shape | int]" = field(default_factory=dict)
    """The shape of structs there, alone or in a list, or the type of a list's elements, which libraries
    take for granted, whatever the list says. In fields that are not named anything may be."""


UNKNOWN = Shape()


class Compact:
    """Reads structs from bytes; `at` is where the next begins."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self.at = 0
        self._data = data
        self._left = MOST_VALUES

    def struct(self, shape: Shape, depth: int = 0) -> Any:
        """What the shape makes of it; a ValueError or IndexError where the bytes are damaged."""
        if depth > _DEEPEST:
            raise damaged()
        found: Struct = {}
        seen: set[int] = set()
        number = 0
        while (byte := self._byte()) != 0:
            step, kind = byte >> 4, byte & 15
            number = number + step if step else self._number()
            if not 0 < number < 100 or number in seen:  # beyond 16 bits, others read another field's number
                raise damaged()
            seen.add(number)
            expected = shape.fields.get(number)
            found[number, kind] = None if kind in _BOOLEANS else self._value(kind, expected, depth)
        return shape.make(found)

    def _value(self, kind: int, expected: Shape | int | None, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"it tells of its columns and pages in more than {MOST_VALUES:,} values")
        if kind in _NUMBERS:
            return self._number()
        if kind == STRUCT:
            return self.struct(expected if isinstance(expected, Shape) else UNKNOWN, depth + 1)
        if kind == LIST:
            return self._list(expected, depth + 1)
        if kind == TEXT:
            length = self._length()
            self.at += length
        elif kind in (_BYTE, _DOUBLE):
            self.at += 1 if kind == _BYTE else 8
        else:  # Parquet has no maps or sets
            raise damaged()
        return None

    def _list(self, expected: Shape | int | None, depth: int) -> list[Any] | None:
        if depth > _DEEPEST:
            raise damaged()
        byte = self._byte()
        count, kind = byte >> 4, byte & 15
        if count == 15:
            count = self._length()
        if expected is not None and count and kind != (STRUCT if isinstance(expected, Shape) else expected):
            raise damaged()
        kind = _BYTE if kind in _BOOLEANS else kind
        if isinstance(expected, Shape) and expected.make is not _nothing:
            return [self._value(kind, expected, depth) for _ in range(count)]
        for _ in range(count):
            self._value(kind, expected, depth)
        return None

    def _number(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)

    def _length(self) -> int:
        if (length := self._varint()) >= 2**31:
            raise damaged()
        return length

    def _varint(self) -> int:
        if (byte := self._byte()) < 0x80:
            return byte
        value, shift = byte & 0x7F, 7
        while (byte := self._byte()) >= 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise damaged()
        value |= byte << shift
        if value >= 2**64:
            raise damaged()
        return value

    def _byte(self) -> int:
        byte = self._data[self.at]
        self.at += 1
        return byte


def size(struct: Struct, number: int, kind: int) -> int:
    """A field that must be there and be a number of bytes or values."""
    value = struct.get((number, kind))
    if value is None or not 0 <= value < (2**31 if kind == I32 else 2**63):
        raise damaged()
    return int(value)


def damaged() -> ValueError:
    return ValueError("what it tells of its columns and pages is damaged")

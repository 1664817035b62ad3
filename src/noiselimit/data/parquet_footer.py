"""Where the columns of a Parquet file lie, read from its end.

pyarrow tells it too, but to ask it about a column of which the end says something that does not fit, such as
statistics for another type, ends the whole process; its reader proper raises an exception for the same file.
"""

from dataclasses import dataclass
from pathlib import Path

from noiselimit.data.thrift import (
    I32,
    I64,
    LIST,
    STRUCT,
    TEXT,
    UNKNOWN,
    Compact,
    Shape,
    Struct,
    damaged,
    size,
)
from noiselimit.opening import open_regular


@dataclass(frozen=True, slots=True)
class Chunk:
    """A column of a row group."""

    start: int
    size: int
    """Bytes of its pages and their headers."""
    values: int


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows that are stored together."""

    rows: int
    chunks: tuple[Chunk, ...]


def row_groups(path: Path) -> list[RowGroup]:
    """All of them; a ValueError or IndexError where the end of the file is damaged."""
    with open_regular(path) as file:
        length = file.seek(0, 2)
        file.seek(max(length - 8, 0))
        footer = int.from_bytes(file.read(4), "little")
        if footer > length - 8:
            raise damaged()
        file.seek(length - 8 - footer)
        told = Compact(file.read(footer)).struct(_FILE)
    groups: list[RowGroup] = told.get((4, LIST), [])
    return groups


def _column(told: Struct) -> Chunk:
    """The page of distinct values comes first if there is one."""
    start, distinct = size(told, 9, I64), told.get((11, I64)) or 0
    return Chunk(distinct if 0 < distinct < start else start, size(told, 7, I64), size(told, 5, I64))


def _chunk(told: Struct) -> Chunk:
    chunk = told.get((3, STRUCT))
    if not isinstance(chunk, Chunk):  # it is encrypted
        raise damaged()
    return chunk


def _group(told: Struct) -> RowGroup:
    return RowGroup(size(told, 3, I64), tuple(told.get((1, LIST), ())))


# All lists of the format, by the numbers of their fields.
_SIZES, _PLACES = Shape(fields={2: I64, 3: I64}), Shape(fields={2: I32})
_COLUMN = Shape(_column, {2: I32, 3: TEXT, 8: UNKNOWN, 13: UNKNOWN, 16: _SIZES, 17: _PLACES})
_CHUNK = Shape(_chunk, {3: _COLUMN, 8: Shape(fields={2: Shape(fields={1: TEXT})})})
_GROUP = Shape(_group, {1: _CHUNK, 4: UNKNOWN})
_FILE = Shape(dict, {2: UNKNOWN, 4: _GROUP, 5: UNKNOWN, 7: UNKNOWN})

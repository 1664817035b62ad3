"""How much the pages of a Parquet file become, found by reading their headers alone.

The end of the file tells sizes too, but nothing holds it to them. Before each page stands a header in
Thrift's compact form that says to how many bytes it unpacks, and pyarrow refuses a page that does otherwise.
"""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet

from noiselimit.opening import open_regular

MOST_PAGES = 500_000  # in a file; ten seconds' reading. Usual ones have a megabyte each
LENGTHS, DIFFERENCES = 6, 7
"""Encodings of texts: all their lengths first, or how much of the one before each begins with. Neither can be
read as numbers of distinct ones, and by the latter any number of long texts comes from a few bytes."""
_BOOLEANS, _BYTE, _NUMBERS, _DOUBLE, _TEXT, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, 12
_VALUES, _ENCODING = 1, {5: 2, 8: 4}  # fields in the headers of data pages, of either version

Header = dict[int, Any]


@dataclass(frozen=True)
class Page:
    """What a page's header says."""

    unpacked: int
    """Bytes that its content has when it is decompressed."""
    encoding: int | None
    """Of the values; None where these are the distinct ones, which other pages number."""
    values: int
    """How many it has for the rows."""


def pages(path: Path, metadata: pyarrow.parquet.FileMetaData) -> Iterator[tuple[int, int, Page]]:
    """(row group, column, page) for each page; a ValueError or IndexError where a header is damaged."""
    count = 0
    with open_regular(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for group in range(metadata.num_row_groups):
            for column in range(metadata.num_columns):
                chunk = metadata.row_group(group).column(column)
                starts = [chunk.data_page_offset, chunk.dictionary_page_offset or 0]
                at = min(start for start in starts if start > 0)
                end = at + chunk.total_compressed_size
                values = 0
                while at < end:
                    header, at = _struct(data, at)
                    at += _size(header, 3)
                    page = Page(_size(header, 2), *_content(header))
                    yield group, column, page
                    values += page.values
                    count += 1
                    if count > MOST_PAGES:
                        raise ValueError(f"it has more than {MOST_PAGES:,} pages")
                if values < chunk.num_values:  # of old writers, pyarrow looks for more behind the end
                    raise ValueError("pages of a column are missing")


def _size(header: Header, field: int) -> int:
    size = header.get(field) if isinstance(header, dict) else None
    if not isinstance(size, int) or not 0 <= size < 2**31:
        raise ValueError("the header of a page is damaged")
    return size


def _content(header: Header) -> tuple[int | None, int]:
    """(encoding, values)."""
    if len(inner := _ENCODING.keys() & header.keys()) > 1:
        raise ValueError("the header of a page is damaged")
    for field in inner:
        return _size(header[field], _ENCODING[field]), _size(header[field], _VALUES)
    return None, 0


def _struct(data: mmap.mmap, at: int, depth: int = 0) -> tuple[Header, int]:
    """(field → value of numbers and inner structs, where the bytes behind it begin)."""
    if depth > 3:
        raise ValueError("the header of a page is damaged")
    fields: Header = {}
    field = 0
    while (byte := data[at]) != 0:
        at += 1
        step, kind = byte >> 4, byte & 15
        if step:
            field += step
        else:
            field, at = _number(data, at)
        if not 0 < field < 100 or field in fields:  # others read a number beyond 16 bits as another field's
            raise ValueError("the header of a page is damaged")
        value: Any = None
        if kind in _NUMBERS:
            value, at = _number(data, at)
        elif kind == _STRUCT:
            value, at = _struct(data, at, depth + 1)
        elif kind == _TEXT:
            length, at = _varint(data, at)
            at += length
        elif kind not in _BOOLEANS:
            if kind not in (_BYTE, _DOUBLE):  # there are no lists or maps in such a header
                raise ValueError("the header of a page is damaged")
            at += 1 if kind == _BYTE else 8
        fields[field] = value
    return fields, at + 1


def _number(data: mmap.mmap, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return value >> 1 ^ -(value & 1), at


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[at]) >= 0x80:
        value |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if shift > 63:
            raise ValueError("the header of a page is damaged")
    return value | byte << shift, at + 1

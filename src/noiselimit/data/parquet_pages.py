"""How much the pages of a Parquet file become, found by reading their headers alone.

The end of the file tells sizes too, but nothing holds it to them. Before each page stands a header in
Thrift's compact form that says to how many bytes it unpacks, and pyarrow refuses a page that does otherwise.
"""

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from noiselimit.data.parquet_footer import RowGroup
from noiselimit.data.thrift import I32, STRUCT, Compact, Shape, Struct, damaged, size
from noiselimit.opening import open_regular

MOST_PAGES = 500_000  # in a file; ten seconds' reading. Usual ones have a megabyte each
LENGTHS, DIFFERENCES = 6, 7
"""Encodings of texts: all their lengths first, or how much of the one before each begins with. Neither can be
read as numbers of distinct ones, and by the latter any number of long texts comes from a few bytes."""
_VALUES, _ENCODING = 1, {5: 2, 8: 4}  # fields in the headers of data pages, of either version
_HEADER = Shape(dict, {field: Shape(dict) for field in _ENCODING})


@dataclass(frozen=True)
class Page:
    """What a page's header says."""

    unpacked: int
    """Bytes that its content has when it is decompressed."""
    encoding: int | None
    """Of the values; None where these are the distinct ones, which other pages number."""
    values: int
    """How many it has for the rows."""


def pages(path: Path, groups: Sequence[RowGroup]) -> Iterator[tuple[int, int, Page]]:
    """(row group, column, page) for each page; a ValueError or IndexError where a header is damaged."""
    count = 0
    with open_regular(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        reader = Compact(data)
        for number, group in enumerate(groups):
            for column, chunk in enumerate(group.chunks):
                reader.at, end = chunk.start, chunk.start + chunk.size
                values = 0
                while reader.at < end:
                    header = reader.struct(_HEADER)
                    reader.at += size(header, 3, I32)
                    page = Page(size(header, 2, I32), *_content(header))
                    yield number, column, page
                    values += page.values
                    count += 1
                    if count > MOST_PAGES:
                        raise ValueError(f"it has more than {MOST_PAGES:,} pages")
                if values < chunk.values:  # of old writers, pyarrow looks for more behind the end
                    raise ValueError("pages of a column are missing")


def _content(header: Struct) -> tuple[int | None, int]:
    """(encoding, values)."""
    if len(inner := [field for field in _ENCODING if (field, STRUCT) in header]) > 1:
        raise damaged()
    for field in inner:
        told = header[field, STRUCT]
        return size(told, _ENCODING[field], I32), size(told, _VALUES, I32)
    return None, 0

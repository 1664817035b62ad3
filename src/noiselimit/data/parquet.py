"""Parquet files, read so that what a few bytes stand for a million times does not fill the memory."""

import mmap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.compute
import pyarrow.parquet

from noiselimit.data.reading import require_few_columns, require_modest
from noiselimit.errors import InputError
from noiselimit.files import name_for_libraries, open_regular, require_regular

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
    if len(inner := [place for place in _ENCODING if (place, STRUCT) in header]) > 1:
        raise damaged()
    for place in inner:
        told = header[place, STRUCT]
        return size(told, _ENCODING[place], I32), size(told, _VALUES, I32)
    return None, 0


DAMAGED = (
    pyarrow.ArrowException,
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
    RecursionError,
)
"""What pyarrow raises for damaged files, and in making pandas' tables of them."""
AT_ONCE = 2**28
"""Bytes that rows with texts of unknown length may become before they are counted."""


def read_parquet(path: Path) -> pyarrow.Table:
    """All rows, checked; one of the errors above where the file is damaged.

    Texts are read as numbers of distinct ones, as files have them, and written out when their sum is known.
    """
    require_regular(path)
    with name_for_libraries(path) as known, pyarrow.parquet.ParquetFile(known) as file:
        schema, metadata = file.schema_arrow, file.metadata
    require_few_columns(path, metadata.num_columns)
    for column in schema:
        if pyarrow.types.is_nested(getattr(column.type, "storage_type", column.type)):
            raise InputError(
                f"{path}: column '{column.name}' has type {str(column.type)[:40]}; give numbers or text, or "
                "remove the column."
            )
    content = _read(path, schema, _require_modest_pages(path, metadata, schema))
    content.validate(full=True)  # text in a damaged file need not be text
    written_out = sum(length for column in content.columns for length in _lengths(column))
    require_modest(path, content.nbytes + written_out)
    for place, column in enumerate(content.schema):
        if pyarrow.types.is_dictionary(column.type) and not pyarrow.types.is_dictionary(
            schema.field(place).type
        ):
            content = content.set_column(
                place, schema.field(place), content.column(place).cast(schema.field(place).type)
            )
    return content


@dataclass(frozen=True)
class _Columns:
    """What the pages tell of columns, each by its place."""

    plain: frozenset[int]
    """Which cannot be read as numbers of distinct values."""
    longest: int
    """How long the texts of a row can be where that cannot be told from the sizes of pages; 0: it can."""


def _require_modest_pages(
    path: Path, metadata: pyarrow.parquet.FileMetaData, schema: pyarrow.Schema
) -> _Columns:
    """Refuse what would fill the memory, before any page is unpacked."""
    groups = row_groups(path)
    if {metadata.num_columns, *(len(group.chunks) for group in groups)} != {len(schema)}:
        raise ValueError("columns are missing")
    cells: Counter[tuple[int, int]] = Counter()
    for place, kind in enumerate(schema.types):
        width = max(_width(kind), metadata.schema.column(place).length)
        for number, group in enumerate(groups):
            cells[number, place] = max(group.rows, group.chunks[place].values) * width
    require_modest(path, cells.total())
    unpacked: Counter[tuple[int, int]] = Counter()
    encodings: dict[int, set[int | None]] = defaultdict(set)
    for number, place, page in pages(path, groups):
        unpacked[number, place] += page.unpacked
        encodings[place].add(page.encoding)
    require_modest(path, (cells | unpacked).total())
    plain = {
        place
        for place, kind in enumerate(schema.types)
        if metadata.schema.column(place).physical_type == "BYTE_ARRAY"
        and (encodings[place] & {LENGTHS, DIFFERENCES} or not _can_be_numbered(kind))
    }
    growing = {place for place in plain if encodings[place] & {None, DIFFERENCES}}
    longest = sum(max(unpacked[number, place] for number in range(len(groups))) for place in growing)
    return _Columns(frozenset(plain), longest)


def _read(path: Path, schema: pyarrow.Schema, columns: _Columns) -> pyarrow.Table:
    """The columns as they are in the file; where texts grow in reading, a few rows at a time."""
    texts = [
        field.name
        for place, field in enumerate(schema)
        if _is_text(field.type) and place not in columns.plain
    ]
    with name_for_libraries(path) as known, pyarrow.parquet.ParquetFile(known, read_dictionary=texts) as file:
        if not columns.longest:
            return file.read()
        batches: list[pyarrow.RecordBatch] = []
        total = 0
        for batch in file.iter_batches(max(AT_ONCE // columns.longest, 1)):
            total += batch.nbytes
            require_modest(path, total)
            batches.append(batch)
        return pyarrow.Table.from_batches(batches, file.schema_arrow)


def _is_text(kind: pyarrow.DataType) -> bool:
    return any(
        test(kind)
        for test in (
            pyarrow.types.is_string,
            pyarrow.types.is_large_string,
            pyarrow.types.is_binary,
            pyarrow.types.is_large_binary,
        )
    )


def _can_be_numbered(kind: pyarrow.DataType) -> bool:
    """Whether pyarrow reads texts of the type as numbers of distinct ones, where the file has them so."""
    return _is_text(kind) or pyarrow.types.is_dictionary(kind)


def _width(kind: pyarrow.DataType) -> int:
    """Bytes of a cell as far as the type says; of text its number, since it is counted when it is there."""
    try:
        return max(int(kind.bit_width) // 8, 1)
    except ValueError:
        return 4


def _lengths(column: pyarrow.ChunkedArray) -> Iterator[int]:
    """Bytes of the pieces of a column of text, written out."""
    if not pyarrow.types.is_dictionary(column.type) or not _is_text(column.type.value_type):
        return
    for chunk in column.chunks:
        counts = pyarrow.compute.value_counts(chunk.indices)
        used = pyarrow.compute.binary_length(chunk.dictionary.take(counts.field("values")))
        total = pyarrow.compute.sum(pyarrow.compute.multiply(used.cast("int64"), counts.field("counts")))
        yield total.as_py() or 0

"""Parquet files, read so that what a few bytes stand for a million times does not fill the memory."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow
import pyarrow.compute
import pyarrow.parquet

from noiselimit.data.parquet_footer import row_groups
from noiselimit.data.parquet_pages import DIFFERENCES, LENGTHS, pages
from noiselimit.data.sizes import require_few_columns, require_modest
from noiselimit.errors import InputError
from noiselimit.opening import name_for_libraries, require_regular

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
    for field in schema:
        if pyarrow.types.is_nested(getattr(field.type, "storage_type", field.type)):
            raise InputError(
                f"{path}: column '{field.name}' has type {str(field.type)[:40]}; give numbers or text, or "
                "remove the column."
            )
    content = _read(path, schema, _require_modest_pages(path, metadata, schema))
    content.validate(full=True)  # text in a damaged file need not be text
    written_out = sum(length for column in content.columns for length in _lengths(column))
    require_modest(path, content.nbytes + written_out)
    for place, field in enumerate(content.schema):
        if pyarrow.types.is_dictionary(field.type) and not pyarrow.types.is_dictionary(
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

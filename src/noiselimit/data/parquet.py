"""Parquet files, read so that what a few bytes stand for a million times does not fill the memory."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pyarrow.compute
import pyarrow.parquet

from noiselimit.data.sizes import require_modest
from noiselimit.errors import InputError

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


def read_parquet(path: Path) -> pyarrow.Table:
    """All rows, checked; one of the errors above where the file is damaged.

    Texts are read as numbers of distinct ones, as files have them, and written out when their sum is known.
    """
    with pyarrow.parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        declared = file.metadata.num_rows * sum(map(_width, schema.types))
    require_modest(path, declared)
    for field in schema:
        if pyarrow.types.is_nested(field.type):
            raise InputError(
                f"{path}: column '{field.name}' has type {str(field.type)[:40]}; give numbers or text, or "
                "remove the column."
            )
    texts = [field.name for field in schema if _is_text(field.type)]
    with pyarrow.parquet.ParquetFile(path, read_dictionary=texts) as file:
        content = file.read()
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

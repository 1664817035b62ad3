"""A cleaned copy of a Parquet file."""

import json
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

from noiselimit.audit.fixes import Fixes
from noiselimit.errors import InputError
from noiselimit.opening import name_for_libraries


def clean_parquet(source: Path, target: Path, fixes: Fixes, label: str) -> None:
    """Same columns and types, and the notes that pandas keeps in the file."""
    try:
        with name_for_libraries(source) as known, pyarrow.parquet.ParquetFile(known) as file:
            content = file.read()
    except (pyarrow.ArrowException, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:150].rstrip(". ")
        raise InputError(f"{source}: cannot be read ({reason}); give a Parquet file.") from None
    place = content.schema.get_field_index(label)
    if place < 0:
        raise InputError(f"{source}: there is no column '{label}'; name the one of the labels with --label.")
    column = content.column(place).unify_dictionaries()
    rows = fixes.spelled_as(column.to_pandas(), str(source))
    if fixes.changed.any():
        content = content.set_column(place, content.schema.field(place), column.take(pyarrow.array(rows)))
    if not fixes.kept.all():
        content = _with_row_numbers(content).filter(pyarrow.array(fixes.kept))
    with name_for_libraries(target, create=True) as known:
        pyarrow.parquet.write_table(content, known)


def _with_row_numbers(content: pyarrow.Table) -> pyarrow.Table:
    """With a column for what pandas notes as first, last and step alone: consecutive numbers with a name.

    They are an input when the file is read, and no longer consecutive without the rows that are dropped.
    """
    notes = content.schema.pandas_metadata
    levels = notes.get("index_columns", []) if isinstance(notes, dict) else []
    for place, level in enumerate(levels):
        if isinstance(level, dict) and level.get("name"):
            name = str(level["name"])
            numbers = np.arange(content.num_rows, dtype=np.int64) * level["step"] + level["start"]
            content = content.append_column(name, pyarrow.array(numbers))
            levels[place] = name
            kind = {"pandas_type": "int64", "numpy_type": "int64", "metadata": None}
            notes["columns"].append({"name": name, "field_name": name, **kind})
            metadata = {**content.schema.metadata, b"pandas": json.dumps(notes).encode()}
            content = content.replace_schema_metadata(metadata)
    return content

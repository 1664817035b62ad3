"""The column names of a table without its rows, for what can be told before anything large is read."""

from pathlib import Path

import pyarrow
import pyarrow.csv
import pyarrow.parquet

from noiselimit.data.left_out import no_column
from noiselimit.data.table_file import separator
from noiselimit.opening import name_for_libraries

ENDINGS = (".csv", ".tsv", ".parquet")


def require_label(path: Path, label: str | None) -> None:
    """Complain if a table lacks its column of labels; whatever else is wrong with it, reading it tells."""
    wanted, names = label or "label", column_names(path)
    if names is not None and wanted not in names:
        raise no_column(path, "label", wanted, names)


def column_names(path: Path) -> list[str] | None:
    """None of what is no table, or cannot be read."""
    if path.suffix.lower() not in ENDINGS or not path.is_file():
        return None
    try:
        if path.suffix.lower() == ".parquet":
            with name_for_libraries(path) as known:
                schema = pyarrow.parquet.read_schema(known)
            notes = schema.pandas_metadata
            levels = notes.get("index_columns", ()) if isinstance(notes, dict) else ()
            # An index of consecutive numbers is a column too, though only its name is written.
            return [*schema.names, *(str(level.get("name")) for level in levels if isinstance(level, dict))]
        parsing = pyarrow.csv.ParseOptions(delimiter=separator(path), newlines_in_values=True)
        with (
            name_for_libraries(path) as known,
            pyarrow.csv.open_csv(known, parse_options=parsing) as reader,  # the first block alone
        ):
            return list(reader.schema.names)
    except (pyarrow.ArrowException, OSError, ValueError):
        return None

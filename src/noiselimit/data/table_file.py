"""Tables from files: CSV (separated by comma, semicolon or tab, in UTF-8) and Parquet."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow
import pyarrow.csv

from noiselimit.data.columns import Categorical
from noiselimit.data.examples import DataSet
from noiselimit.data.frame import frame_data_set
from noiselimit.data.left_out import no_column, without_ignored
from noiselimit.data.parquet import DAMAGED, read_parquet
from noiselimit.data.reading import Reading
from noiselimit.data.sizes import require_few_columns
from noiselimit.data.table import Table, require_distinct_names
from noiselimit.data.telling_columns import by_option, column_notes
from noiselimit.errors import InputError
from noiselimit.opening import name_for_libraries, open_regular, require_regular

HEADER_BYTES = 2**16  # where the separator is looked for
LONGEST_HEADER = 2**24  # where columns are counted
QUOTED = re.compile(rb'"[^"]*"')
NAMELESS_INDEX = re.compile(r"__index_level_\d+__")  # what pandas writes for row numbers without a name


def read_table_file(path: Path, reading: Reading = Reading()) -> DataSet:  # noqa: B008 - frozen
    """The examples in a table: one row each, and a column of labels among those of the inputs.

    Labels are in the column called 'label' where the reading names no other, clean ones likewise in
    'clean_label' if there is one; weights only where a column is named. Notes tell of columns that had
    better be left out.
    """
    frame = _read_frame(path)
    frame, left_out = without_ignored(frame, reading, path)
    has_clean = reading.clean_label is not None or "clean_label" in frame.columns
    wanted = {
        "label": reading.label or "label",
        "clean-label": (reading.clean_label or "clean_label") if has_clean else None,
        "weight": reading.weight,
    }
    names = [name for name in wanted.values() if name is not None]
    for option, name in wanted.items():
        if name is not None and name not in frame.columns:
            raise no_column(path, option, name, [c for c in frame.columns if c not in names])
        if names.count(name or "") > 1:
            raise InputError(f"{path}: --{option} is '{name}', which another option names too; correct one.")
    columns = {option: None if name is None else frame.pop(name) for option, name in wanted.items()}
    data = frame_data_set(
        frame,
        columns["label"],
        name=path.stem,
        source=str(path),
        clean_labels=columns["clean-label"],
        weights=columns["weight"],
        keep_unlabelled=reading.keep_unlabelled,
    )
    notes = (*left_out, *column_notes(frame, data.examples.labels, str(path), by_option))
    del frame, columns
    _give_back()
    return replace(data, notes=notes)


def read_table_inputs(path: Path, test: bool, table: Table | None) -> npt.NDArray[np.float32]:
    """Features [n, features] of the rows, encoded as the run's table was; labels need not be there."""
    if table is None:
        raise InputError(
            f"{path}: the run was not trained on a table with named columns; give inputs as in its training."
        )
    if test:
        raise InputError(f"{path}: a table has no test part; leave out --test.")
    names = [column.name for column in table.columns if isinstance(column, Categorical)]
    frame = _read_frame(path, names)
    if not len(frame):
        raise InputError(f"{path}: there are no rows; add some to predict for.")
    return table.encode(frame, str(path))


def _give_back() -> None:
    """Hand the memory of a file that is done with back to the system: pyarrow would keep all of it."""
    pyarrow.default_memory_pool().release_unused()


def _read_frame(path: Path, text_columns: Sequence[str] = ()) -> pd.DataFrame:
    """All columns. In a CSV, those in `text_columns` stay as they are spelled, even where all are numbers."""
    try:
        if path.suffix.lower() == ".parquet":
            content = _with_index(read_parquet(path))
        else:
            content = _read_csv(path, text_columns)
        require_distinct_names(content.column_names, str(path))
        # Without pandas' own notes, which would make an index of named columns, and that is no input.
        # Column by column, so that there are not two copies of everything at a time.
        frame: pd.DataFrame = content.to_pandas(split_blocks=True, self_destruct=True, ignore_metadata=True)
        return frame
    except InputError:
        raise
    except UnicodeDecodeError:
        raise InputError(
            f"{path}: the column names are not in UTF-8; save the file in that encoding."
        ) from None
    except DAMAGED as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        reason = (text.splitlines() or [type(error).__name__])[0][:150].rstrip(". ")
        kind = (
            "a Parquet file"
            if path.suffix.lower() == ".parquet"
            else "a table with as many cells in every line"
        )
        raise InputError(f"{path}: cannot be read ({reason}); give {kind}.") from None


def _with_index(content: pyarrow.Table) -> pyarrow.Table:
    """With what pandas held as a named index among the columns, and without row numbers that have no name."""
    notes = content.schema.pandas_metadata
    for level in notes.get("index_columns", ()) if isinstance(notes, dict) else ():
        if isinstance(level, dict) and level.get("name"):  # consecutive numbers are not written as a column
            numbers = range(level["start"], level["stop"], level["step"])[: content.num_rows]
            content = content.append_column(str(level["name"]), pyarrow.array(numbers, pyarrow.int64()))
    nameless = [name for name in content.column_names if NAMELESS_INDEX.fullmatch(name)]
    return content.drop_columns(nameless)


def _read_csv(path: Path, text_columns: Sequence[str]) -> pyarrow.Table:
    mark = separator(path)
    require_few_columns(path, _columns(path, mark))
    require_regular(path)
    with name_for_libraries(path) as known:
        return pyarrow.csv.read_csv(
            known,
            read_options=pyarrow.csv.ReadOptions(use_threads=False),  # with threads, messages lack the row
            parse_options=pyarrow.csv.ParseOptions(delimiter=mark, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={name: pyarrow.string() for name in text_columns},
                true_values=[],  # else 'true' and 'True' would be one name here and two in a column with more
                false_values=[],
            ),
        )


def separator(path: Path) -> str:
    """The one of comma, semicolon and tab that occurs most often between the column names."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    with open_regular(path) as file:
        header = file.read(HEADER_BYTES).lstrip(b"\r\n").splitlines()[:1]
    unquoted = re.sub(QUOTED, b"", header[0]) if header else b""
    return max(",;\t", key=lambda mark: unquoted.count(mark.encode()))


def _columns(path: Path, mark: str) -> int:
    """How many there are, by the line of their names, which may have line ends in quotes."""
    with open_regular(path) as file:
        unquoted = re.sub(QUOTED, b"", file.read(LONGEST_HEADER)).lstrip(b"\r\n")
    return 1 + next(iter(unquoted.splitlines()), b"").count(mark.encode())

"""The column names of a table without its rows, for what can be told before anything large is read."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow
import pyarrow.csv
import pyarrow.parquet

from noiselimit.data.arrays import Labels
from noiselimit.data.examples import DataSet, fill_labels, make_examples, without_labels
from noiselimit.data.leakage import by_option, column_notes
from noiselimit.data.parquet import DAMAGED, read_parquet
from noiselimit.data.reading import Reading, no_column, require_few_columns, without_ignored
from noiselimit.data.tables import (
    MISSING,
    Categorical,
    Table,
    as_texts,
    fit_table,
    kind_of,
    numbers,
    require_distinct_names,
)
from noiselimit.errors import InputError
from noiselimit.files import name_for_libraries, open_regular, require_regular

MANY = 20
"""From so many rows on, more classes than half the rows are taken for a mistake."""


def is_table(value: Any) -> bool:
    """A DataFrame whose columns have names; one with numbered columns is a matrix and treated as an array."""
    return isinstance(value, pd.DataFrame) and all(isinstance(name, str) for name in value.columns)


def frame_data_set(
    inputs: pd.DataFrame,
    labels: Any,
    *,
    name: str = "table",
    source: str = "the table",
    clean_labels: Any = None,
    weights: Any = None,
    keep_unlabelled: bool = False,
) -> DataSet:
    """Rows with a label [n] each, of any numbers or text: the classes are the distinct labels in order.

    The data set's `table` holds how the rows became features. `keep_unlabelled`: rows without a label are
    kept, with −1 for one.
    """
    given = _column(labels, "label", inputs, source)
    missing = None
    if keep_unlabelled:
        filled, missing = fill_labels(given, f"{source}: column '{given.name}'")
        given = given if not missing.any() else pd.Series(filled, name=given.name)
    table = fit_table(inputs, source)
    names, encoded = class_numbers(given, source)
    clean = None
    if clean_labels is not None:
        clean = _encode(_column(clean_labels, "clean label", inputs, source), names, source)
    if weights is not None:
        weights = numbers(_column(weights, "weight", inputs, source), source)
    features = table.encode(inputs, source)
    examples = make_examples(
        features, encoded, class_names=names, clean_labels=clean, weights=weights, source=source
    )
    return DataSet(name, examples if missing is None else without_labels(examples, missing), table=table)


def _column(values: Any, what: str, inputs: pd.DataFrame, source: str) -> "pd.Series[Any]":
    """A named column as long as the inputs; its own row numbers, where it has any, do not matter."""
    series = values if isinstance(values, pd.Series) else pd.Series(np.asarray(values), name=what)
    if len(series) != len(inputs):
        raise InputError(
            f"{source}: there are {len(inputs)} inputs but {len(series)} {what}s; give one {what} per input."
        )
    return series


def class_numbers(labels: "pd.Series[Any]", source: str) -> tuple[tuple[str, ...], Labels]:
    """(class names in numeric or else alphabetic order, labels [n] that number them)."""
    codes, texts = _label_texts(labels, source)
    if len(texts) == len(codes) > 1 or (len(codes) >= MANY and 2 * len(texts) > len(codes)):
        raise InputError(
            f"{source}: column '{labels.name}' has {len(texts)} different values in {len(codes)} rows, so it "
            "holds no classes; name another column of labels."
        )
    if kind_of(labels, source) == "names":
        return tuple(texts), codes
    order = sorted(range(len(texts)), key=lambda code: int(texts[code]))
    return tuple(texts[code] for code in order), np.argsort(order)[codes]


def _encode(labels: "pd.Series[Any]", names: tuple[str, ...], source: str) -> Labels:
    codes, texts = _label_texts(labels, source)
    number = {name: place for place, name in enumerate(names)}
    encoded = np.array([number.get(text, -1) for text in texts], np.int64)[codes]
    if encoded.min() < 0:
        row = int(np.argmin(encoded))
        raise InputError(
            f"{source}: column '{labels.name}' has '{texts[codes[row]]}' in row {row}, which no given label "
            "is; correct it or remove that row."
        )
    return encoded


def _stripped(codes: npt.NDArray[np.int64], texts: list[str]) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Blanks around a label are a slip of the hand: nobody would see which of two classes is which."""
    kept = sorted({text.strip() for text in texts})
    place = {text: number for number, text in enumerate(kept)}
    return np.array([place[text.strip()] for text in texts], np.int64)[codes], kept


def _label_texts(labels: "pd.Series[Any]", source: str) -> tuple[npt.NDArray[np.int64], list[str]]:
    """(codes [n], distinct texts), none of them empty, without blanks around; numbers must be whole."""
    is_number = kind_of(labels, source) == "numbers"
    codes, texts = _stripped(*as_texts(labels))
    for code, text in enumerate(texts):
        no_class = is_number and not text.removeprefix("-").isdecimal()
        if text != MISSING and not no_class:
            continue
        row = int(np.argmax(codes == code))
        if text == MISSING:
            raise InputError(
                f"{source}: column '{labels.name}' has no label in row {row}; fill it in or remove that row."
            )
        raise InputError(
            f"{source}: column '{labels.name}' has {text} in row {row}, which is no class; "
            "give whole numbers or names."
        )
    return codes, texts


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

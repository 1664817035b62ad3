"""Data sets from tables: DataFrames with labels, and CSV, TSV and Parquet files."""

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from noiselimit.data.arrays import Labels, LazyInputs, first
from noiselimit.data.cells import MISSING, as_texts, kind_of, to_float32
from noiselimit.data.columns import Categorical, Numeric, Text
from noiselimit.data.examples import (
    DataSet,
    fill_labels,
    is_regression,
    make_examples,
    make_values,
    take_examples,
    without_labels,
)
from noiselimit.data.fitting import fit_table
from noiselimit.data.image_folder import ENDINGS, read_pictures
from noiselimit.data.leakage import by_option, column_notes
from noiselimit.data.pictures import Cut, PictureFiles
from noiselimit.data.reading import TABLES, Reading, readable, require_modest
from noiselimit.data.tables import Table, all_of, require_distinct_names
from noiselimit.errors import InputError, unknown
from noiselimit.features.texts import TextFeatures

FIRST_CELLS, MOST_NAMED = 100, 5  # cells that tell whether a column holds paths; missing pictures named
MANY = 20  # from so many rows on, more classes than half the rows are taken for a mistake
ABSENT = ("na", "n/a", "#n/a", "<na>", "nan", "null", "none")  # how programs write that a cell is empty
VALUES_NOTE = (
    "The labels '{}' are taken for numbers (regression); if they are classes, give the task classification."
)
HOUR = 3.6e9  # in microseconds
HEADER_BYTES = 2**16  # where the separator is looked for
QUOTED = re.compile(rb'"[^"]*"')
REMEDY = "give Parquet, or UTF-8 text (in Excel: CSV UTF-8) with the same number of cells in every line"
NAMELESS_INDEX = re.compile(r"__index_level_\d+__")  # what pandas writes for row numbers without a name


def frame_data_set(
    inputs: Any,
    labels: Any,
    *,
    name: str = "table",
    source: str = "the table",
    clean_labels: Any = None,
    weights: Any = None,
    keep_unlabelled: bool = False,
    text: TextFeatures = TextFeatures(),  # noqa: B008 - frozen
    pictures: LazyInputs | None = None,
) -> DataSet:
    """A data set from a table of inputs, one row per example, and labels [n], numbers or names.

    The classes are the distinct labels, sorted. The data set's `table` encodes new rows in the same way.
    With `keep_unlabelled`, rows without a label get the label −1. The `pictures` that a table lists, or its
    `Rows`, are the inputs in place of its columns.
    """
    given = _as_column(labels, "label", inputs, source)
    missing = np.zeros(len(given), bool)
    if keep_unlabelled:
        filled, missing = fill_labels(given, f"{source}: column '{given.name}'")
        given = pd.Series(filled, name=given.name) if missing.any() else given

    def column(values: Any, what: str, read: Callable[["pd.Series[Any]", str], Any]) -> Any:
        return None if values is None else read(_as_column(values, what, inputs, source), source)

    table, (names, encoded), clean, weight = all_of(
        source,
        [
            lambda: fit_table(inputs, source, text) if pictures is None else None,
            lambda: class_numbers(given, source),
            lambda: column(clean_labels, "clean label", _label_texts),
            lambda: column(weights, "weight", to_float32),
        ],
    )
    features = pictures if table is None else table.encode(inputs, source)
    examples = make_examples(
        features,
        encoded,
        class_names=names,
        clean_labels=None if clean is None else np.array(clean[1])[clean[0]],
        weights=weight,
        source=source,
    )
    examples = without_labels(examples, missing)
    notes = _class_notes(names, source)
    if table is None:
        return DataSet(name, examples, notes=notes)
    examples = replace(examples, kept=table.kept(inputs))
    return DataSet(name, examples, table=table, notes=(*table.notes, *notes))


def value_data_set(
    inputs: pd.DataFrame,
    labels: Any,
    *,
    name: str = "table",
    source: str = "the table",
    clean_labels: Any = None,
    weights: Any = None,
    keep_unlabelled: bool = False,
    text: TextFeatures = TextFeatures(),  # noqa: B008 - frozen
) -> DataSet:
    """Like `frame_data_set`, for regression: labels are numbers."""
    given = _as_column(labels, "label", inputs, source)
    clean = None if clean_labels is None else _as_column(clean_labels, "clean label", inputs, source)
    weight = None if weights is None else to_float32(_as_column(weights, "weight", inputs, source), source)
    table = fit_table(inputs, source, text)
    examples = make_values(
        table.encode(inputs, source),
        given,
        clean_labels=clean,
        weights=weight,
        name=str(given.name),
        source=f"{source}: column '{given.name}'",
        keep_unlabelled=keep_unlabelled,
    )
    notes = (*table.notes, VALUES_NOTE.format(given.name))
    return DataSet(name, replace(examples, kept=table.kept(inputs)), table=table, notes=notes)


def _as_column(values: Any, what: str, inputs: Any, source: str) -> "pd.Series[Any]":
    """A named column as long as the inputs; its index is ignored."""
    series = values if isinstance(values, pd.Series) else pd.Series(np.asarray(values), name=what)
    if len(series) != len(inputs):
        counts = f"{len(inputs)} inputs but {len(series)} {what}s"
        raise InputError(f"{source}: there are {counts}; give one for each.")
    return series


def class_numbers(labels: "pd.Series[Any]", source: str) -> tuple[tuple[str, ...], Labels]:
    """(class names in numeric or else alphabetic order, class numbers [n])."""
    codes, texts = _label_texts(labels, source)
    if len(texts) == len(codes) > 1 or (len(codes) >= MANY and 2 * len(texts) > len(codes)):
        counts = f"{len(texts)} different values in {len(codes)} rows"
        raise InputError(f"{source}: column '{labels.name}' has {counts}; name one that holds classes.")
    return tuple(texts), codes


def _class_notes(names: Sequence[str], source: str) -> tuple[str, ...]:
    absent = [name for name in names if name.lower() in ABSENT]
    times = Counter(name.lower() for name in names)
    alike = [name for name in names if times[name.lower()] > 1]
    return tuple(
        f"{source}: taken as classes: {', '.join(map(repr, found[:MOST_NAMED]))}; {remedy}."
        for found, remedy in (
            (absent, "leave the cell empty where a label is missing"),
            (alike, "spell those alike that are one class"),
        )
        if found
    )


def _label_texts(labels: "pd.Series[Any]", source: str) -> tuple[Labels, list[str]]:
    """(codes [n], the distinct texts in order), none of them empty; numbers must be whole."""
    is_number = kind_of(labels, source, labels=True) == "numbers"
    codes, spelled = as_texts(labels)
    # Two classes that differ only in the blanks around them look the same to a reader.
    spelled = [text.strip() for text in spelled]
    good = [text.removeprefix("-").isdecimal() if is_number else text != MISSING for text in spelled]
    row = first(~np.array(good, bool)[codes])
    if row is not None:
        cell = f"the label '{spelled[codes[row]]}' in row {row}"
        raise InputError(f"{source}: column '{labels.name}' has {cell}; give a whole number or a name.")
    texts = sorted(set(spelled), key=int if is_number else None)
    place = {text: number for number, text in enumerate(texts)}
    return np.array([place[text] for text in spelled], np.int64)[codes], texts


def read_table_file(path: Path, reading: Reading = Reading()) -> DataSet:  # noqa: B008 - frozen
    """The examples in a CSV, TSV or Parquet file, one per row.

    Labels are in the column 'label' unless `reading` names another. Notes point out columns that give the
    label away, and columns that are no inputs. If the only input is a column of paths of picture files, the
    pictures are the inputs.
    """
    return table_data_set(_read_frame(path), path, reading)


def table_data_set(frame: pd.DataFrame, path: Path, reading: Reading) -> DataSet:
    """The examples in the rows of a frame that was read from the path; see `read_table_file`."""
    clean = reading.clean_label
    if clean is None and "clean_label" in frame.columns and "clean_label" not in reading.ignore:
        clean = "clean_label"
    roles = {"label": reading.label or "label", "clean-label": clean, "weight": reading.weight}
    inputs = [name for name in frame.columns if name not in roles.values()]
    if reading.label is None and "label" not in frame.columns:
        names = ", ".join(map(repr, inputs[:20]))
        raise InputError(f"{path}: no column 'label'; name the label column with --label ({names}).")
    named = [*roles.items(), *(("ignore", name) for name in dict.fromkeys(reading.ignore))]
    for option, name in named:
        if name is not None and name not in frame.columns:
            raise InputError(f"{path}: --{option}: {unknown('column', name, inputs)}")
        options = [f"--{other}" for other, column in named if column == name is not None]
        if len(options) > 1:
            raise InputError(f"{path}: {' and '.join(options)} name the same column '{name}'; correct one.")
    columns = {option: None if name is None else frame.pop(name) for option, name in roles.items()}
    ignored = [name for name in frame.columns if name in reading.ignore]
    frame = frame.drop(columns=ignored)
    left_out = [f"{path}: ignored {', '.join(map(repr, ignored))}."] if ignored else []
    how: dict[str, Any] = {
        "name": path.stem,
        "source": str(path),
        "clean_labels": columns["clean-label"],
        "weights": columns["weight"],
        "keep_unlabelled": reading.keep_unlabelled,
    }
    if paths := [] if reading.text else _path_columns(frame):
        if len(frame.columns) == 1:
            data = _read_listed(path, frame, columns["label"], reading, how)
            return replace(data, notes=(*left_out, *data.notes))
        others = ",".join(name for name in frame.columns if name != paths[0])
        hint = f"{path}: column '{paths[0]}' names image files; to read them, add --ignore {others}."
        if reading.resize or reading.skip_bad_images:
            raise InputError(hint)
        left_out.append(hint)
    reading.require_only(TABLES, str(path))
    features = TextFeatures(reading.features, reading.text, reading.cache, reading.progress)
    if is_regression(columns["label"], reading.task):
        data = value_data_set(frame, columns["label"], text=features, **how)
        return replace(data, notes=(*left_out, *data.notes))
    try:
        data = frame_data_set(frame, columns["label"], text=features, **how)
    except InputError as error:
        if paths:  # perhaps a list of images with more columns, such as an identifier
            raise InputError(f"{error} {hint}") from None
        raise
    assert data.table is not None
    inputs_only = data.table.without_kept(frame)
    notes = (*left_out, *data.notes, *column_notes(inputs_only, data.examples.labels, str(path), by_option))
    del frame, inputs_only, columns, how
    pyarrow.default_memory_pool().release_unused()  # else pyarrow would keep the memory of the whole file
    return replace(data, notes=notes)


def _path_columns(frame: pd.DataFrame) -> list[str]:
    """The columns most of whose first cells end like names of picture files."""

    def is_path(cell: Any) -> bool:
        return isinstance(cell, str) and cell.strip().lower().endswith(ENDINGS)

    shown = frame.head(FIRST_CELLS)
    return [str(name) for name in shown if 2 * sum(map(is_path, shown[name])) > len(shown)]


def _read_listed(
    path: Path, frame: pd.DataFrame, labels: Any, reading: Reading, how: dict[str, Any]
) -> DataSet:
    """The pictures whose paths are in the only column of the frame."""
    paths = _listed_paths(path, frame.iloc[:, 0], reading)
    unread = PictureFiles(path.parent, paths, Cut(1, 1))  # labels are checked before pictures are read
    data = frame_data_set(frame, labels, pictures=unread, **how)
    ((inputs, rows),), resize, notes = read_pictures(path, path.parent, [paths], reading)
    examples = take_examples(replace(data.examples, names=paths), rows)
    return replace(
        data, examples=replace(examples, inputs=inputs), notes=(*data.notes, *notes), resize=resize
    )


def _listed_paths(path: Path, cells: "pd.Series[Any]", reading: Reading) -> list[str]:
    """The paths [n] in a list of pictures, relative to its folder; InputError if files are missing."""
    paths = ["" if pd.isna(cell) else str(cell).strip() for cell in cells]
    missing = [
        f"'{name}' in row {row}"
        for row, name in enumerate(paths)
        if not os.path.isfile(os.path.join(path.parent, name))
    ]
    if missing and not reading.skip_bad_images:
        named = ", ".join(missing[:MOST_NAMED]) + (", …" if len(missing) > MOST_NAMED else "")
        raise InputError(
            f"{path}: {len(missing)} of {len(paths)} images are missing: {named}; give paths relative to the "
            "folder of the list, or use --skip-bad-images."
        )
    return paths


def read_new_list(path: Path, reading: Reading) -> list[str]:
    """The paths [n] of the pictures in a list to predict for; other columns are not needed."""
    frame = _read_frame(path)
    columns = _path_columns(frame)
    if len(columns) != 1:
        found = " and ".join(map(repr, columns)) or "no column"
        raise InputError(f"{path}: the run takes images, but {found} names image files; give one column.")
    return _listed_paths(path, frame[columns[0]], reading)


def read_table_inputs(
    path: Path, test: bool, table: Table | None
) -> tuple[npt.NDArray[np.float32], dict[str, npt.NDArray[Any]]]:
    """(features [n, features] encoded as the run's table was, columns to keep); labels are not needed."""
    if table is None:
        raise InputError(f"{path}: the run was not trained on a table; give inputs as in training.")
    if test:
        raise InputError(f"{path}: a table has no test part; leave out --test.")
    names = [
        column.name
        for column in table.columns
        if isinstance(column, Categorical | Text) or (isinstance(column, Numeric) and column.decimal == ",")
    ]
    frame = _read_frame(path, names)
    if not len(frame):
        raise InputError(f"{path}: there are no rows; add some to predict for.")
    return table.encode_new(frame, str(path)), table.kept(frame)


def _read_frame(path: Path, text_columns: Sequence[str] = ()) -> pd.DataFrame:
    """All columns. In a CSV, those in `text_columns` stay text even if all of their values are numbers."""
    with readable(path, REMEDY):
        is_parquet = path.suffix.lower() == ".parquet"
        content = with_index(read_parquet(path)) if is_parquet else _read_csv(path, text_columns)
        return as_frame(content, str(path))


def as_frame(content: pyarrow.Table, source: str) -> pd.DataFrame:
    """All columns of a file, but those without a name that hold nothing or row numbers."""
    with readable(source, REMEDY):
        counts = list(range(content.num_rows))
        for place in reversed([place for place, name in enumerate(content.column_names) if not name]):
            column = content.column(place)  # the index of pandas, or an empty column of a spreadsheet
            if column.null_count == len(column) or (place == 0 and column.to_pylist() == counts):
                content = content.remove_column(place)
        require_distinct_names(content.column_names, source)
        content = _with_hours(content)
        # Without pandas' metadata, which would turn named columns into an index. Column by column, so that
        # there are not two copies of everything at a time.
        frame: pd.DataFrame = content.to_pandas(
            split_blocks=True, self_destruct=True, ignore_metadata=True, date_as_object=False
        )
        return frame


def read_parquet(path: Path) -> pyarrow.Table:
    """All rows of a Parquet file; raises InputError if it is damaged or unpacks to far more than its size."""
    with readable(path, REMEDY), pyarrow.parquet.ParquetFile(path) as file:
        require_modest(path, 8 * file.metadata.num_rows * file.metadata.num_columns)
        content = file.read()
        content.validate(full=True)  # text in a damaged file may not be UTF-8
        return content


def with_index(content: pyarrow.Table) -> pyarrow.Table:
    """With a named index of pandas among the columns, and without row numbers that have no name."""
    metadata = content.schema.pandas_metadata
    for level in metadata.get("index_columns", ()) if isinstance(metadata, dict) else ():
        if isinstance(level, dict) and level.get("name"):  # a named range, stored only as metadata
            values = range(level["start"], level["stop"], level["step"])[: content.num_rows]
            content = content.append_column(str(level["name"]), pyarrow.array(values, pyarrow.int64()))
    return content.drop_columns([name for name in content.column_names if NAMELESS_INDEX.fullmatch(name)])


def _with_hours(content: pyarrow.Table) -> pyarrow.Table:
    """With times of day as hours since midnight."""
    for place, field in enumerate(content.schema):
        if pyarrow.types.is_time(field.type):
            microseconds = content.column(place).cast(pyarrow.time64("us")).cast(pyarrow.int64())
            content = content.set_column(place, field.name, pyarrow.compute.divide(microseconds, HOUR))
    return content


def _read_csv(path: Path, text_columns: Sequence[str]) -> pyarrow.Table:
    content = pyarrow.csv.read_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(use_threads=False),  # with threads, errors lack the row
        parse_options=pyarrow.csv.ParseOptions(delimiter=separator(path), newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={name: pyarrow.string() for name in text_columns},
            true_values=[],  # else 'true' and 'True' would be one name here and two in other columns
            false_values=[],
        ),
    )
    for column in content.schema:
        if pyarrow.types.is_binary(column.type):
            raise ValueError(f"column '{column.name}' is not UTF-8")
    return content


def separator(path: Path) -> str:
    """The one of comma, semicolon, tab and bar that occurs most often between the column names."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES).lstrip(b"\r\n").splitlines()[:1]
    unquoted = QUOTED.sub(b"", header[0]) if header else b""
    return max(",;\t|", key=lambda mark: unquoted.count(mark.encode()))

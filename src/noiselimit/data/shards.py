"""Tables of many Parquet files: in memory if they fit, else encoded once into a file of features.

The encoding is then fitted to a sample of the rows. The features are written shard by shard, so a process
that was killed goes on with the next shard.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, BinaryIO
from weakref import finalize

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow
import pyarrow.parquet

from noiselimit.data.arrays import Rows, npy_header
from noiselimit.data.columns import Numeric
from noiselimit.data.examples import DataSet
from noiselimit.data.image_folder import has_class_folders
from noiselimit.data.reading import CACHE, Reading, readable
from noiselimit.data.table_file import (
    NAMELESS_INDEX,
    as_frame,
    frame_data_set,
    read_parquet,
    read_table_file,
    read_table_inputs,
    table_data_set,
    with_index,
)
from noiselimit.data.tables import Table, kept_as
from noiselimit.errors import InputError
from noiselimit.files import FULL, folder_lock, make_folder, read_small_text, write_json
from noiselimit.machine import available_memory

BATCH = 2**16
"""Rows that are read at a time."""
SAMPLE = 200_000
"""Rows to which the encoding is fitted, spread evenly."""
BYTES_PER_CELL, MOST_OF_MEMORY = 32, 0.8
"""What an audit in memory takes for each cell of a table of numbers, and the share of the free memory that it
may take. Text is counted by its size in the files."""
DAMAGED = "write this file again or remove it"
MANIFEST, FEATURES = "manifest.json", "features.npy"


@dataclass(frozen=True)
class Shards:
    """Parquet files with the same columns."""

    place: Path
    """Their folder, a pattern such as data/part-*.parquet, or the only one of them."""
    names: tuple[str, ...]
    """Paths below the folder, sorted."""
    rows: tuple[int, ...]
    columns: tuple[str, ...]
    cells: int
    """Bytes of all cells, without compression."""

    @property
    def folder(self) -> Path:
        """Where the names start."""
        return self.place if self.place.is_dir() else self.place.parent

    def tables(self, shard: int, columns: list[str] | None = None) -> Iterator[pyarrow.Table]:
        """The rows of one file, some at a time; of all columns or these."""
        path = self.folder / self.names[shard]
        with readable(path, DAMAGED), pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH, columns=columns or list(self.columns)):
                batch.validate(full=True)
                yield pyarrow.Table.from_batches([batch]).replace_schema_metadata()


def has_shards(folder: Path) -> bool:
    """Whether it holds Parquet files, and no class folders of pictures beside them."""
    return bool(find_shards(folder)) and not has_class_folders(folder)


def find_shards(place: Path) -> list[str]:
    """Names of the Parquet files in a folder and below it, or of those that fit a pattern; none if hidden."""
    if place.is_file():
        return [place.name]
    folder, pattern = (place, "**/*.parquet") if place.is_dir() else (place.parent, place.name)
    found = (path.relative_to(folder) for path in folder.glob(pattern) if path.is_file())
    return sorted(str(path) for path in found if not any(part[0] in "._" for part in path.parts))


def is_pattern(path: Path) -> bool:
    """Whether it stands for several Parquet files, as data/part-*.parquet does."""
    return bool(re.search(r"[*?\[]", path.name)) and path.suffix == ".parquet" and not path.exists()


def open_shards(place: Path) -> Shards:
    """Check that all files can be read and have the same columns, from their ends only."""
    names, rows, cells, first = find_shards(place), [], 0, dict[str, str]()
    folder = place if place.is_dir() else place.parent
    if not names:
        raise InputError(f"{place}: there is no .parquet file; name another folder.")
    for name in names:
        with readable(folder / name, DAMAGED), pyarrow.parquet.ParquetFile(folder / name) as file:
            kinds = {each.name: _kind(each.type) for each in file.schema_arrow}
            kinds = {column: kind for column, kind in kinds.items() if not NAMELESS_INDEX.fullmatch(column)}
            groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]
            rows.append(file.metadata.num_rows)
        cells += sum(group.total_byte_size for group in groups)
        first = first or kinds
        for column in [*first, *kinds]:
            ours, theirs = kinds.get(column), first.get(column)
            if None in (ours, theirs) or (ours != theirs and "null" not in (ours, theirs)):
                kind = "is missing" if ours is None else f"has type {ours}" if theirs else "is there"
                other = "it is missing" if theirs is None else f"it has type {theirs}"
                what = f"column '{column}' {kind}, but in {names[0]} {other}"
                raise InputError(f"{folder / name}: {what}; give all files the same columns.")
    if not sum(rows):
        raise InputError(f"{place}: there are no rows; add examples.")
    return Shards(place, tuple(names), tuple(rows), tuple(first), cells)


def _kind(kind: pyarrow.DataType) -> str:
    """The type of a column; programs may write a column's numbers, or its texts, in several types."""
    types = pyarrow.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    return "text" if types.is_string(kind) or types.is_large_string(kind) else str(kind)


def read_parquet_file(path: Path, reading: Reading = Reading()) -> DataSet:  # noqa: B008 - frozen
    """The examples in one Parquet file, streamed if they do not fit in memory."""
    if reading.stream == "off" or (reading.stream == "auto" and not _is_large(path)):
        return read_table_file(path, reading)
    return read_parquet_shards(path, reading)


def read_parquet_shards(place: Path, reading: Reading = Reading()) -> DataSet:  # noqa: B008 - frozen
    """The examples in the Parquet files of a folder, in the order of their names.

    If they do not fit in memory, or `reading` says so, the inputs are `Rows` of a file in the cache.
    """
    shards = open_shards(place)
    counts = tuple(zip(shards.names, shards.rows, strict=True))
    if reading.stream == "on" or (reading.stream == "auto" and _too_large(shards)):
        return replace(_stream(shards, reading), shards=counts)
    tables = [
        with_index(read_parquet(shards.folder / name)).replace_schema_metadata() for name in shards.names
    ]
    with readable(place, "give all files the same columns"):
        content = pyarrow.concat_tables(tables, promote_options="permissive")
    del tables
    data = table_data_set(as_frame(content, str(place)), place, reading)
    return replace(data, name=_name(place), shards=counts)


def read_shard_inputs(
    place: Path, test: bool, table: Table
) -> tuple[npt.NDArray[np.float32], dict[str, npt.NDArray[Any]]]:
    """(features [n, features] of the rows of all files, columns to keep), as `read_table_inputs` of each."""
    folder = place if place.is_dir() else place.parent
    found = [read_table_inputs(folder / name, test, table) for name in find_shards(place)]
    kept = {name: np.concatenate([each[name] for _, each in found]) for name in found[0][1]}
    return np.concatenate([inputs for inputs, _ in found]), kept


def _name(place: Path) -> str:
    return place.resolve().name if place.is_dir() else place.stem


def _is_large(path: Path) -> bool:
    """Whether a file may be too large for memory; damaged ones are reported when they are read."""
    try:
        return _too_large(open_shards(path))
    except InputError:
        return False


def _too_large(shards: Shards) -> bool:
    numbers = BYTES_PER_CELL * sum(shards.rows) * len(shards.columns)
    free = available_memory()
    return free is not None and max(numbers, 4 * shards.cells) > MOST_OF_MEMORY * free


# Streamed


def _stream(shards: Shards, reading: Reading) -> DataSet:
    """Fit the encoding to a sample, then encode all rows, shard by shard."""
    source, roles = str(shards.place), (reading.label or "label", reading.clean_label or "clean_label")
    sample, columns = _sample(shards, [*roles, *([reading.weight] if reading.weight else [])])
    sampled = table_data_set(sample, shards.place, reading)
    assert sampled.table is not None
    table = _with_means(sampled.table, sampled.examples.inputs)
    place = _place(shards, table, reading)
    rows = Rows(place / FEATURES, (sum(shards.rows), table.features))
    if reading.cache is None:
        finalize(rows, shutil.rmtree, place, ignore_errors=True)
    clean = None if reading.clean_label is None and roles[1] in reading.ignore else columns.get(roles[1])
    data = frame_data_set(
        rows,
        columns[roles[0]],
        name=_name(shards.place),
        source=source,
        clean_labels=clean,
        weights=columns.get(reading.weight or ""),
        keep_unlabelled=reading.keep_unlabelled,
        pictures=rows,
    )
    _encode(shards, table, rows)
    kept: dict[str, Any] = {
        name: ShardColumn(shards, column.name) for column in table.columns if (name := kept_as(column))
    }
    fitted = f"columns were fitted to {len(sample):,} of {sum(shards.rows):,} rows"
    streamed = f"{source}: features are kept in a file, not in memory; {fitted}."
    notes = (*sampled.notes, *(note for note in data.notes if note not in sampled.notes), streamed)
    return replace(data, examples=replace(data.examples, kept=kept), table=table, notes=notes)


def _sample(shards: Shards, names: list[str]) -> tuple[pd.DataFrame, dict[str, "pd.Series[Any]"]]:
    """(every k-th row, these columns of all rows if they are there)."""
    step, seen = -(-sum(shards.rows) // SAMPLE), 0
    sampled: list[pyarrow.Table] = []
    columns: dict[str, list[pyarrow.ChunkedArray]] = {name: [] for name in names if name in shards.columns}
    for shard in range(len(shards.names)):
        for content in shards.tables(shard):
            sampled.append(content.take(np.arange(-seen % step, len(content), step)))
            seen += len(content)
            for name, parts in columns.items():
                column = content.column(name)
                parts.append(column.dictionary_encode() if _kind(column.type) == "text" else column)
    with readable(shards.place, "give all files the same columns"):
        content = pyarrow.concat_tables(sampled, promote_options="permissive")
        whole = [
            pyarrow.concat_tables(
                [pyarrow.table({name: part}) for part in parts], promote_options="permissive"
            )
            for name, parts in columns.items()
        ]
    found = [each.unify_dictionaries().to_pandas() for each in whole]
    return as_frame(content, str(shards.place)), {
        name: each[name] for name, each in zip(columns, found, strict=True)
    }


def _with_means(table: Table, sample: Any) -> Table:
    """With the means of the sample, for numbers that are missing in other rows only."""
    means, start, columns = np.asarray(sample).mean(0, dtype=np.float64), 0, []
    for column in table.columns:
        missing = isinstance(column, Numeric) and column.median is None
        columns.append(replace(column, mean=float(means[start])) if missing else column)  # type: ignore[call-arg]
        start += column.width
    return replace(table, columns=tuple(columns))


def _place(shards: Shards, table: Table, reading: Reading) -> Path:
    """The folder for the features, called after what they are made of; temporary without a cache."""
    if reading.cache is None:
        return Path(mkdtemp(prefix=CACHE))
    stats = [(name, os.stat(shards.folder / name)) for name in shards.names]
    facts = [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]
    text = json.dumps([str(shards.folder.resolve()), facts, table.to_json()])
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return make_folder(reading.cache / f"rows-{digest}")


def _encode(shards: Shards, table: Table, rows: Rows) -> None:
    """Write the features of all rows; shards that were written before are passed over."""
    folder, (count, width) = rows.path.parent, rows.shape
    manifest, header = folder / MANIFEST, npy_header((count, width))
    with folder_lock(folder):
        done = 0
        if manifest.exists():
            with readable(manifest, f"delete the folder {folder}"):
                done = int(json.loads(read_small_text(manifest))["shards"])
        with _reserved(rows.path, header, 4 * count * width, new=not done) as file:
            for shard in range(done, len(shards.names)):
                file.seek(len(header) + 4 * width * sum(shards.rows[:shard]))
                source = str(shards.folder / shards.names[shard])
                for content in shards.tables(shard, [each.name for each in table.columns if each.width]):
                    file.write(table.encode(as_frame(content, source), source).data)
                file.flush()
                os.fsync(file.fileno())
                write_json(manifest, {"shards": shard + 1})


@contextmanager
def _reserved(path: Path, header: bytes, size: int, *, new: bool) -> Iterator[BinaryIO]:
    """The file to write to. Space for all of it is reserved, so that a full disk is noticed at once."""
    try:
        with path.open("wb" if new else "r+b") as file:
            if new:
                file.write(header)
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, len(header) + size)
            yield file
    except OSError as error:
        if error.errno in FULL:
            error.filename = str(path)
            if new:
                path.unlink()
        raise


class ShardColumn:
    """One column of all rows for outputs, which is read when it is needed."""

    def __init__(self, shards: Shards, name: str) -> None:
        self._shards, self._name = shards, name
        self._starts = np.cumsum([0, *shards.rows])

    def __getitem__(self, row: Any) -> Any:
        """One cell for a row, an array for several and for a slice that is one shard."""
        if isinstance(row, np.ndarray):
            return np.array([self[each] for each in row.tolist()], object)
        first = row.start if isinstance(row, slice) else row
        shard = int(np.searchsorted(self._starts, first, "right")) - 1
        path, left = self._shards.folder / self._shards.names[shard], first - int(self._starts[shard])
        with readable(path, DAMAGED), pyarrow.parquet.ParquetFile(path) as file:
            if isinstance(row, slice):
                return file.read([self._name]).column(0).to_pandas().to_numpy()
            for group in range(file.metadata.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                if left < size:
                    return file.read_row_group(group, columns=[self._name]).column(0)[left].as_py()
                left -= size
        raise IndexError(row)

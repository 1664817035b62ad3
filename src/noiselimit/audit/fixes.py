"""A cleaned copy of the data: flagged rows dropped, or given the label that the audit suggests."""

import json
import mmap
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow
import pyarrow.csv
import pyarrow.parquet

from noiselimit.audit.folder import to_class_names
from noiselimit.audit.issues import Audit
from noiselimit.audit.quality import Flags, Labels
from noiselimit.data.examples import DataSet
from noiselimit.data.npz import LABELS, TEST_INPUTS, TEST_LABELS, read_npy
from noiselimit.data.table_file import separator
from noiselimit.errors import InputError, unknown
from noiselimit.files import atomic_file, name_for_libraries, open_regular


@dataclass(frozen=True, eq=False)
class Fixes:
    """Rows to keep and labels to give; classes are numbers in no particular order, −1 where missing."""

    kept: Flags
    """[n]"""
    changed: Flags
    """[n]: whether the row gets the suggested label, which is another than its own."""
    given: Labels
    """[n]"""
    wanted: Labels
    """[n]: the suggested label where changed, else the given one."""
    classes: "pd.Index[Any]"
    """What the audit calls the classes."""

    @classmethod
    def of(cls, table: pd.DataFrame, fix: str) -> "Fixes":
        """From an audit's table."""
        flagged = table["is_label_issue"].to_numpy(bool)
        codes, classes = pd.factorize(pd.concat([table["given_label"], table["predicted_label"]]))
        given, predicted = codes[: len(table)].astype(np.int64), codes[len(table) :].astype(np.int64)
        if fix == "drop":
            return cls(~flagged, np.zeros(len(table), bool), given, given, pd.Index(classes))
        changed = flagged & (given != predicted)
        wanted = np.where(changed, predicted, given)
        return cls(np.ones(len(table), bool), changed, given, wanted, pd.Index(classes))

    def require_rows(self, rows: int, source: str) -> None:
        """The source must be what was audited."""
        if rows != len(self.kept):
            raise InputError(
                f"{source}: there are {rows} rows but the audit has {len(self.kept)}; "
                "audit the file as it is now."
            )

    def spelled_as(self, spellings: Any, source: str) -> Labels:
        """[n]: the row whose label each row is to have, its own where it stays as it is.

        `spellings` [n] are the labels in the source. A class may be spelled in several ways there, such as
        with blanks around; a new label is spelled in the commonest. So it needs no formatting.
        """
        self.require_rows(len(spellings), source)
        codes, _ = pd.factorize(spellings)
        seen = pd.DataFrame({"label": self.given, "spelling": codes, "row": np.arange(len(codes))})
        found = seen.groupby(["label", "spelling"], sort=False)["row"].agg(["size", "first"]).reset_index()
        several = found["spelling"].duplicated()
        if several.any():
            row = int(found.loc[several, "first"].iloc[0])
            raise InputError(
                f"{source}: the label in row {row} is not the one that was audited; "
                "audit the file as it is now, and name its column of labels."
            )
        common = found.sort_values("size", ascending=False, kind="stable").drop_duplicates("label")
        rows = np.full(len(self.classes), -1, np.int64)
        there = common[common["label"] >= 0]
        rows[there["label"].to_numpy()] = there["first"].to_numpy()
        own = np.arange(len(codes))
        picked = np.where(self.changed, rows[self.wanted], own)
        if (picked < 0).any():
            name = self.classes[self.wanted[int(np.argmin(picked))]]
            raise InputError(
                f"{source}: no row has label '{name}', so its spelling there is unknown; use --fix drop."
            )
        return picked


BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_EMPTY_LINES = re.compile(rb"[\r\n]*")


def clean_csv(source: Path, target: Path, fixes: Fixes, label: str) -> None:
    """Lines that stay are copied as they are, with their ends; a new label replaces its cell alone."""
    if source.stat().st_size == 0:  # which cannot be mapped
        raise InputError(f"{source}: the file is empty; audit the file as it is now.")
    with open_regular(source) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        cells = _Cells(source)
        records = cells.records(text)
        header = next(records, (0, 0, 0))
        names = [_unquoted(text[slice(*span)]) for span in cells.spans(text, header[0], header[1])]
        if names.count(label.encode()) != 1:
            raise InputError(
                f"{source}: there is no column '{label}'; name the one of the labels with --label."
            )
        cell = cells.numbered(names.index(label.encode()))
        spelled: dict[bytes, bytes] = {}  # one copy of each
        spellings: list[bytes] = []
        for start, end, _ in records:
            found = cell.match(text, start, end)
            if found is None:
                raise InputError(f"{source}: row {len(spellings)} has too few cells; complete it.")
            spellings.append(spelled.setdefault(found[1], found[1]))
        rows = fixes.spelled_as(np.array([*spellings, None], object)[:-1], str(source))
        with target.open("wb") as out:
            done = header[2]
            out.write(text[:done])
            for row, (start, end, after) in enumerate(cells.records(text, done)):
                out.write(text[done:start])  # empty lines
                found = cell.match(text, start, end) if fixes.changed[row] else None
                if found is not None:
                    out.write(
                        text[start : found.start(1)] + spellings[rows[row]] + text[found.end(1) : after]
                    )
                elif fixes.kept[row]:
                    out.write(text[start:after])
                done = after
            out.write(text[done:])


class _Cells:
    """Where lines and cells end, as pyarrow has it: quotes count only at the start of a cell."""

    def __init__(self, source: Path) -> None:
        self._source, mark = source, separator(source).encode()
        rest = rb"[^%s\r\n]*" % mark
        self._cell = rb'(?:"[^"]*(?:""[^"]*)*"%s|(?!")%s)' % (rest, rest)
        self._mark = mark
        self._record = re.compile(rb"%s(?:%s%s)*" % (self._cell, mark, self._cell))

    def records(self, text: mmap.mmap, place: int = 0) -> Iterator[tuple[int, int, int]]:
        """(start, end, start of what follows) of the header and of every row; empty lines are none."""
        if place == 0 and text[: len(BOM)] == BOM:
            place = len(BOM)
        ahead = {b"\n": -1, b"\r": -1}  # where the next one is; searching thus is faster than a pattern
        while True:
            empty = _EMPTY_LINES.match(text, place)
            start = empty.end() if empty else place
            if start >= len(text):
                return
            for mark, found_at in ahead.items():
                if found_at < start:
                    ahead[mark] = text.find(mark, start) % (len(text) + 1)  # −1 becomes the length
            end = min(ahead.values())
            if text.find(b'"', start, end) >= 0:  # a line end may be inside a cell
                found = self._record.match(text, start)
                end = found.end() if found else start
            line = _LINE_END.match(text, end)
            if line is None and end < len(text):
                raise InputError(
                    f"{self._source}: a quote after byte {end} is never closed; close or remove it."
                )
            place = line.end() if line else end
            yield start, end, place

    def spans(self, text: mmap.mmap, start: int, end: int) -> list[tuple[int, int]]:
        """Where the cells of a line are."""
        found = []
        cell = re.compile(self._cell)
        while (match := cell.match(text, start, end)) is not None:
            found.append(match.span())
            start = match.end() + 1
            if start > end:
                break
        return found

    def numbered(self, place: int) -> "re.Pattern[bytes]":
        """Finds the cell of this number in a line, as group 1."""
        return re.compile(rb"(?:%s%s){%d}(%s)" % (self._cell, self._mark, place, self._cell))


def _unquoted(cell: bytes) -> bytes:
    if not cell.startswith(b'"'):
        return cell
    end = re.match(rb'"[^"]*(?:""[^"]*)*"', cell)
    inner = cell[1 : end.end() - 1] if end else cell[1:]
    return inner.replace(b'""', b'"') + (cell[end.end() :] if end else b"")


OTHERS = frozenset({"class_names", "test_clean_labels", *TEST_INPUTS, *TEST_LABELS})
"""Arrays that do not have a row for each example, even where they happen to be as long."""


def clean_npz(source: Path, target: Path, fixes: Fixes, label: str) -> None:
    """All arrays with a row for each example are shortened alike; the rest is copied byte by byte."""
    try:
        with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
            names = {name.removesuffix(".npy"): name for name in old.namelist()}
            labels = next((name for name in LABELS if name in names), None)
            if labels is None:
                raise InputError(f"{source}: there is no array '{LABELS[0]}' (or '{LABELS[-1]}'); add it.")
            rows = fixes.spelled_as(_read(old, names[labels], source), str(source))
            for member in old.infolist():
                changed = _changed(old, member.filename, labels, rows, fixes, source)
                info = zipfile.ZipInfo(member.filename, member.date_time)
                info.compress_type, info.external_attr = member.compress_type, member.external_attr
                with new.open(info, "w", force_zip64=True) as into:
                    if changed is None:
                        with old.open(member) as content:
                            shutil.copyfileobj(content, into)
                    else:
                        np.lib.format.write_array(into, changed, allow_pickle=False)
    except InputError:
        raise
    except Exception as error:  # zipfile raises nearly anything on damaged files
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"{source}: cannot be copied ({reason}); write it with numpy.savez.") from None


def _changed(
    archive: zipfile.ZipFile,
    member: str,
    labels: str,
    rows: npt.NDArray[np.int64],
    fixes: Fixes,
    source: Path,
) -> npt.NDArray[Any] | None:
    """The array as it is to be; None where it stays."""
    name = member.removesuffix(".npy")
    drops = not fixes.kept.all()
    if name != labels and (not drops or name in OTHERS or not member.endswith(".npy")):
        return None
    array = _read(archive, member, source)
    if name == labels:
        array = array[rows]
    if drops and array.ndim and len(array) == len(fixes.kept):
        return np.asarray(array[fixes.kept])
    return array if name == labels else None


def _read(archive: zipfile.ZipFile, member: str, source: Path) -> npt.NDArray[Any]:
    try:
        with archive.open(member) as content:
            return read_npy(content)
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(
            f"{source}: array '{member.removesuffix('.npy')}' cannot be read ({reason}); "
            "save plain numbers or strings with numpy.savez."
        ) from None


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


Fix = Literal["drop", "relabel"]


@dataclass(frozen=True)
class Cleaned:
    """What became of the rows."""

    rows: int
    """In the copy."""
    dropped: int
    relabelled: int
    """Flagged rows whose suggested label is not the one they had."""


CLEANERS: dict[str, Callable[[Path, Path, Fixes, str], None]] = {
    ".csv": clean_csv,
    ".tsv": clean_csv,
    ".parquet": clean_parquet,
    ".npz": clean_npz,
}


def write_cleaned(
    source: Path,
    target: Path,
    audit: Audit,
    fix: Fix = "drop",
    *,
    data: DataSet,
    label: str | None = None,
    overwrite: bool = False,
) -> Cleaned:
    """A copy of `source`, which `data` were read from, with the labels in column `label` cleaned.

    All else stays as it is: columns, their order and types, and in a CSV every character. Of a folder of
    class folders, a CSV of path and label. `source` is never written to.
    """
    if fix not in ("drop", "relabel"):
        raise unknown("fix", fix, ("drop", "relabel"))
    check_cleaned_target(source, target, overwrite=overwrite)
    if audit.flags_withheld:
        raise InputError(
            f"{target}: no cleaned copy was written, because the audit warns that nothing can be said of "
            "these labels; do as it advises, or insist with --budget, --expect-noise or --min-quality."
        )
    fixes = Fixes.of(audit.table, fix)
    if source.is_dir():
        with atomic_file(target) as temporary:
            _list_pictures(source, temporary, fixes, audit, data)
    else:
        clean = CLEANERS[source.suffix.lower()]
        with atomic_file(target) as temporary:
            clean(source, temporary, fixes, label or "label")
    kept = int(fixes.kept.sum())
    return Cleaned(kept, len(fixes.kept) - kept, int(fixes.changed.sum()))


def check_cleaned_target(source: Path, target: Path, *, overwrite: bool = False) -> None:
    """Complain where no cleaned copy can be written; worth asking before hours of training."""
    if not source.exists():
        raise InputError(f"{source}: there is no such file or folder to copy from; leave out --write.")
    ending = ".csv" if source.is_dir() else source.suffix.lower()
    if not source.is_dir() and ending not in CLEANERS:
        raise InputError(f"{source}: only {', '.join(CLEANERS)} files and class folders can be copied.")
    if target.suffix.lower() != ending:
        raise InputError(f"{target}: a cleaned copy of {source} ends in {ending}; rename it so.")
    if target.exists() and os.path.samefile(source, target):
        raise InputError(f"{target}: this is the source itself, which is never changed; name another file.")
    if source.is_dir() and target.resolve().is_relative_to(source.resolve()):
        raise InputError(f"{target}: this is inside the source, which is never changed; name another place.")
    if target.exists() and not overwrite:
        raise InputError(f"{target}: this file exists; name another one or give --overwrite.")


def _list_pictures(source: Path, target: Path, fixes: Fixes, audit: Audit, data: DataSet) -> None:
    names = data.examples.names
    if names is None:
        raise InputError(
            f"{source}: these data are no class folders of pictures, so there are no paths to list; "
            "leave out --write."
        )
    if len(names) != len(fixes.kept):
        raise InputError(
            f"{source}: there are {len(names)} pictures but the audit has {len(fixes.kept)} rows; "
            "audit the folder as it is now."
        )
    column = audit.table["given_label"].where(~fixes.changed, audit.table["predicted_label"])
    labels = to_class_names(column, data.examples.class_names)
    table = pyarrow.table(
        {"path": pyarrow.array(names, pyarrow.string()), "label": pyarrow.array(labels, pyarrow.string())}
    )
    with name_for_libraries(target, create=True) as known:
        pyarrow.csv.write_csv(table.filter(pyarrow.array(fixes.kept)), known)

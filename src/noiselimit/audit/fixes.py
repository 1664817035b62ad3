"""Corrected copies of audited data: rows dropped or relabelled. The data themselves never change."""

import os
import re
import shutil
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow
import pyarrow.compute
import pyarrow.parquet

from noiselimit.audit.quality import Flags, Labels
from noiselimit.audit.saved import SavedAudit
from noiselimit.data.image_tar import has_tars
from noiselimit.data.mnist import holds_idx
from noiselimit.data.npz import LABELS, TEST_INPUTS, TEST_LABELS
from noiselimit.data.shards import has_shards, is_pattern
from noiselimit.data.table_file import separator
from noiselimit.errors import InputError, unknown
from noiselimit.files import atomic_file, atomic_folder, clear_leftovers, folder_lock, sync

Fix = Literal["drop", "relabel"]
FIXES = ("drop", "relabel")
LISTS = (".csv", ".tsv", ".parquet")
"""Endings of a list of paths and labels, which a folder of pictures may become."""
NOT_PER_EXAMPLE = frozenset({"class_names", "test_clean_labels", *TEST_INPUTS, *TEST_LABELS})
"""Arrays of an .npz file that have no row per example, even if their length happens to match."""
NO_COPY = "{}: only .csv, .tsv, .parquet and .npz files and class folders can be copied."
WITHHELD = (
    "the audit is not reliable; follow its warning, or choose what to flag with --budget, --expect-noise or "
    "--min-quality"
)


def list_changes(saved: SavedAudit, decisions: pd.DataFrame, fix: str | None = None) -> pd.DataFrame:
    """What decisions change: one line per row that gets another label or goes.

    Parameters
    ----------
    saved
        The audit.
    decisions
        Columns row, action (keep, relabel, drop or unsure) and label, the right class for relabel. Rows are
        distinct. Rows that are kept or unsure stay as they are.
    fix
        What to do with flagged rows without a decision: drop or relabel; None for nothing.

    Returns
    -------
    DataFrame
        Columns row, path (of pictures), given_label, action (relabel or drop) and label, in data order.
    """
    if fix is not None and fix not in FIXES:
        raise unknown("fix", fix, FIXES)
    table = saved.table
    wanted = decisions[["row", "action", "label"]]
    if fix is not None:
        if saved.summary.get("warning") is not None and not table["is_label_issue"].any():
            raise InputError(f"{saved.folder}: nothing is flagged, because {WITHHELD}.")
        flagged = table[table["is_label_issue"] & ~table["row"].isin(wanted["row"])]
        label = flagged["predicted_label"].astype(object)
        automatic = pd.DataFrame({"row": flagged["row"], "action": fix, "label": label})
        wanted = automatic if wanted.empty else pd.concat([wanted, automatic])
    _check_decisions(saved, wanted)
    wanted = wanted[wanted["action"].isin(FIXES)].sort_values("row", ignore_index=True)
    about = table.iloc[wanted["row"].to_numpy(np.int64)]
    columns = ("path", *saved.file_columns, "given_label")
    found = {name: about[name].astype(object).to_numpy() for name in columns if name in about}
    label = wanted["label"].where(wanted["action"] == "relabel", None)
    changes = wanted.assign(**found, label=label)[["row", *found, "action", "label"]]
    changed = (changes["action"] == "drop") | (changes["label"] != changes["given_label"])
    return changes[changed].reset_index(drop=True)


def _check_decisions(saved: SavedAudit, decisions: pd.DataFrame) -> None:
    """Raise InputError for a row or a class that the audit does not have."""
    for row, action, label in zip(*(decisions[name] for name in ("row", "action", "label")), strict=True):
        if not 0 <= row < len(saved.table):
            count = f"the audit has {len(saved.table):,} rows, from 0"
            raise InputError(f"row {row}: {count}; correct the decision.")
        if action == "relabel":
            try:
                saved.require_label(label)
            except InputError as error:
                raise InputError(f"row {row}: {error}") from None


def write_copy(
    saved: SavedAudit, target: Path, changes: pd.DataFrame, *, overwrite: bool = False
) -> dict[str, int]:
    """Write a copy of the audited data with these changes; everything else stays as it is.

    A file becomes a file of the same kind, and Parquet files become a folder of them. Class folders become a
    folder with the same structure, whose files are hard links where possible, or a list of paths and labels
    if the target ends in .csv, .tsv or .parquet; tar files only become such a list.
    Returns how many rows are in the copy, were dropped and got another label.
    """
    if saved.origin.noise is not None:
        raise InputError(f"{saved.folder}: --noise added label errors, which no data hold; audit without it.")
    source = saved.place
    if source is None:
        raise InputError(NO_COPY.format(saved.origin.source))
    check_target(source, target, overwrite=overwrite)
    if target.resolve().is_relative_to(saved.folder):
        raise InputError(f"{target} is inside {saved.folder}, which holds the audit only: name another.")
    fixes, place = Fixes.of(saved, changes), target.resolve()
    with folder_lock(target, place.with_name(f".{place.name}.lock")):
        clear_leftovers(place.parent, re.escape(place.name))
        if saved.shards and not source.is_file():
            with atomic_folder(place) as temporary:
                _copy_shards(saved, source, temporary, fixes)
        elif source.is_dir() and target.suffix.lower() not in LISTS:
            with atomic_folder(place) as temporary:
                _copy_folders(source, temporary, fixes)
        else:
            with atomic_file(target) as temporary:
                if saved.shards:
                    _copy_shards(saved, source, temporary, fixes)
                    return fixes.counts
                _write_file(source, temporary, fixes, saved.origin.reading.label or "label", target)
    return fixes.counts


def check_target(source: Path, target: Path, *, overwrite: bool = False) -> None:
    """Reject a copy of this source that cannot be written; call it before training."""
    ending = target.suffix.lower()
    many = is_pattern(source) or (source.is_dir() and has_shards(source))
    if not (source.exists() or many) or (source.is_dir() and holds_idx(source)):
        raise InputError(NO_COPY.format(source))
    if source.is_file() and source.suffix.lower() not in WRITERS:
        raise InputError(NO_COPY.format(source))
    if source.is_file() and ending != source.suffix.lower():
        raise InputError(f"{target}: a copy of {source} must end in {source.suffix.lower()}; rename it.")
    own, other = source.resolve(), target.resolve()
    if (
        (target.exists() and target.samefile(source))
        or other.is_relative_to(own)
        or own.is_relative_to(other)
    ):
        raise InputError(f"{target}: the source is never changed; name a place outside of it.")
    if many:
        if ending in WRITERS or target.is_file() or (target.is_dir() and any(target.iterdir())):
            raise InputError(f"{target}: name a new folder for the copies of the files.")
    elif source.is_dir() and ending not in LISTS:
        if has_tars(source):
            raise InputError(f"{target}: tar files become a list of labels; name a .csv or .parquet file.")
        if target.is_file() or ending in WRITERS or (target.is_dir() and any(target.iterdir())):
            raise InputError(f"{target}: name a new folder, or a .csv file for a list of the images.")
    elif target.is_dir():
        raise InputError(f"{target} is a folder; name a {ending} file.")
    elif target.exists() and not overwrite:
        raise InputError(f"{target}: this file exists; name another one or use --overwrite.")
    above = next(parent for parent in other.parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"{target} cannot be written: check its folder or name another.")


@dataclass(frozen=True, eq=False)
class Fixes:
    """Which rows to keep and which labels to change; classes are numbers, −1 if missing."""

    kept: Flags
    """[n]"""
    changed: Flags
    """[n]: whether the row gets another label."""
    given: Labels
    """[n]"""
    wanted: Labels
    """[n]: the new label if changed, else the given one."""
    class_names: tuple[str, ...]
    names: Sequence[str] | None
    """[n]: paths of pictures."""
    has_classes: bool = True
    """False for regression: the class names are values."""

    @classmethod
    def of(cls, saved: SavedAudit, changes: pd.DataFrame) -> "Fixes":
        """From the result of `list_changes`."""
        given, kept = saved.given, np.ones(len(saved.table), bool)
        wanted, drops = given.copy(), changes["action"] == "drop"
        kept[changes["row"][drops].to_numpy(np.int64)] = False
        names = [*saved.class_names]
        if not saved.task.has_classes:  # a reviewer may write any number
            names = list(dict.fromkeys([*names, *changes["label"][~drops]]))
        number = {name: code for code, name in enumerate(names)}
        wanted[changes["row"][~drops].to_numpy(np.int64)] = [
            number[name] for name in changes["label"][~drops]
        ]
        paths = saved.table["path"].tolist() if "path" in saved.table else None
        return cls(kept, wanted != given, given, wanted, tuple(names), paths, saved.task.has_classes)

    def relabel(self, labels: npt.NDArray[Any], source: Path) -> npt.NDArray[Any]:
        """The labels [n] with the new ones in their place, in the type of the column."""
        if self.has_classes:
            return np.asarray(labels[self.label_rows(labels, source)])
        if len(labels) != len(self.given):
            raise InputError(f"{source}: this is not the file that was audited; audit it again.")
        names = np.array(self.class_names, object)[self.wanted[self.changed]]
        fixed = labels.copy()
        fixed[self.changed] = names if labels.dtype.kind in "OU" else names.astype(np.float64)
        return fixed

    @property
    def counts(self) -> dict[str, int]:
        """How many rows are in the copy, were dropped and got another label."""
        kept = int(self.kept.sum())
        return {"rows": kept, "dropped": len(self.kept) - kept, "relabelled": int(self.changed.sum())}

    def label_rows(self, labels: Any, source: Path) -> Labels:
        """[n]: the row of the source whose label each row gets; its own unless it is relabelled.

        A class may be spelled in several ways, for example with spaces around it. The commonest one is used.
        """
        spellings, _ = pd.factorize(labels)
        if len(labels) == len(self.given):
            frame = pd.DataFrame({"label": self.given, "spelling": spellings, "row": np.arange(len(labels))})
            groups = frame.groupby(["label", "spelling"], sort=False)["row"].agg(["size", "first"])
            groups = groups.reset_index()
        if len(labels) != len(self.given) or groups["spelling"].duplicated().any():
            raise InputError(f"{source}: this is not the file that was audited; audit it again.")
        common = groups.sort_values("size", ascending=False, kind="stable").drop_duplicates("label")
        rows = common.set_index("label")["first"].reindex(self.wanted).fillna(-1).to_numpy(np.int64)
        if (rows[self.changed] < 0).any():
            raise InputError(f"{source}: a new label occurs in no row of the data; drop such rows instead.")
        return np.where(self.changed, rows, np.arange(len(labels)))

    def find_pictures(self, columns: Sequence[Sequence[Any]], source: Path) -> tuple[int, Labels]:
        """(which column of a list holds the paths, the row of the list of each example)."""
        assert self.names is not None
        for place, cells in enumerate(columns):
            paths = ["" if cell is None else str(cell).strip() for cell in cells]
            if not set(self.names) <= set(paths):
                continue
            rows = iter(range(len(paths)))  # rows of pictures that were skipped are passed over
            return place, np.array(
                [next(r for r in rows if paths[r] == name) for name in self.names], np.int64
            )
        raise InputError(f"{source}: this is not the list that was audited; audit it again.")

    def paths_from(self, folder: Path, source: Path) -> list[str]:
        """[n]: the paths of the pictures as a list in this folder names them."""
        assert self.names is not None
        old, new = (source if source.is_dir() else source.parent).resolve(), folder.resolve()
        if old == new:
            return list(self.names)
        return [name if os.path.isabs(name) else os.path.relpath(old / name, new) for name in self.names]


def _write_file(source: Path, temporary: Path, fixes: Fixes, label: str, target: Path) -> None:
    writer = _write_list if source.is_dir() else WRITERS[source.suffix.lower()]
    writer(source, temporary, fixes, label, target)


def _write_csv(source: Path, temporary: Path, fixes: Fixes, label: str, target: Path) -> None:
    mark = separator(source)
    cells = pd.read_csv(source, sep=mark, header=None, dtype=str, na_filter=False, encoding="utf-8-sig")
    header, cells = cells[:1], cells[1:].reset_index(drop=True)
    if fixes.names is not None:
        column, rows = fixes.find_pictures([cells[place].tolist() for place in cells], source)
        cells = cells.iloc[rows].reset_index(drop=True)
        cells[column] = fixes.paths_from(target.parent, source)
    place = header.iloc[0].tolist().index(label)
    cells[place] = fixes.relabel(cells[place].to_numpy(object), source)
    fixed = pd.concat([header, cells[fixes.kept]])
    fixed.to_csv(temporary, sep=mark, index=False, header=False, lineterminator="\n")


def _write_parquet(source: Path, temporary: Path, fixes: Fixes, label: str, target: Path) -> None:
    table = pyarrow.parquet.read_table(source)
    if fixes.names is not None:
        texts = [column.to_pylist() if _is_text(column.type) else [] for column in table.columns]
        place, found = fixes.find_pictures(texts, source)
        table = table.take(pyarrow.array(found))
        paths = pyarrow.array(fixes.paths_from(target.parent, source)).cast(table.schema.field(place).type)
        table = table.set_column(place, table.schema.field(place), paths)
    place = table.schema.get_field_index(label)
    column = table.column(place).unify_dictionaries()
    if fixes.has_classes:
        column = column.take(pyarrow.array(fixes.label_rows(column.to_pandas(), source)))
    else:
        column = pyarrow.array(fixes.relabel(column.to_pandas().to_numpy(), source), from_pandas=True)
        column = column.cast(table.schema.field(place).type, safe=False)
    table = table.set_column(place, table.schema.field(place), column)
    pyarrow.parquet.write_table(table.filter(pyarrow.array(fixes.kept)), temporary)


def _is_text(kind: pyarrow.DataType) -> bool:
    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def _write_npz(source: Path, temporary: Path, fixes: Fixes, label: str, target: Path) -> None:
    with np.load(source, allow_pickle=False) as file:
        arrays: dict[str, npt.NDArray[Any]] = {name: file[name] for name in file.files}
    labels = next(name for name in LABELS if name in arrays)
    arrays[labels] = fixes.relabel(arrays[labels], source)
    for name, array in arrays.items():
        if name not in NOT_PER_EXAMPLE and array.ndim and len(array) == len(fixes.kept):
            arrays[name] = array[fixes.kept]
    with zipfile.ZipFile(source) as archive:
        compressed = any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist())
    with temporary.open("wb") as out:
        (np.savez_compressed if compressed else np.savez)(out, **arrays)  # type: ignore[arg-type]


WRITERS: dict[str, Callable[[Path, Path, Fixes, str, Path], None]] = {
    ".csv": _write_csv,
    ".tsv": _write_csv,
    ".parquet": _write_parquet,
    ".npz": _write_npz,
}


def _copy_shards(saved: SavedAudit, source: Path, target: Path, fixes: Fixes) -> None:
    """Parquet files below a folder, or the only one, some rows at a time."""
    label, start = saved.origin.reading.label or "label", 0
    spelled: dict[int, Any] = {}
    folder = source if source.is_dir() else source.parent
    for name, rows in saved.shards if fixes.changed.any() else ():
        column = pyarrow.parquet.read_table(folder / name, columns=[label]).column(0)
        classes, first = np.unique(fixes.given[start : start + rows], return_index=True)
        start += rows
        for number, row in zip(classes.tolist(), first.tolist(), strict=True):
            spelled.setdefault(number, column[row].as_py())
    start = 0
    for name, _ in saved.shards:
        path = target if source.is_file() else target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            pyarrow.parquet.ParquetFile(folder / name) as file,
            pyarrow.parquet.ParquetWriter(path, file.schema_arrow) as out,
        ):
            for batch in file.iter_batches():
                part = slice(start, start := start + len(batch))
                place = batch.schema.get_field_index(label)
                column = _relabelled(batch.column(place), fixes.changed[part], fixes.wanted[part], spelled)
                batch = batch.set_column(place, batch.schema.field(place), column)
                out.write_batch(batch.filter(pyarrow.array(fixes.kept[part])))
        sync(path)


def _relabelled(column: Any, changed: Flags, wanted: Labels, spelled: dict[int, Any]) -> Any:
    """The labels of some rows, of which those that changed get the spelling of the wanted class."""
    if not changed.any():
        return column
    kind = column.type
    plain = column.dictionary_decode() if pyarrow.types.is_dictionary(kind) else column
    values = [spelled[label] if new else None for label, new in zip(wanted.tolist(), changed, strict=True)]
    found = pyarrow.compute.if_else(changed, pyarrow.array(values, plain.type), plain)
    return found.dictionary_encode().cast(kind) if pyarrow.types.is_dictionary(kind) else found


def _write_list(source: Path, temporary: Path, fixes: Fixes, label: str, target: Path) -> None:
    """The paths of the pictures, relative to the folder of the list, and their labels."""
    labels = np.array(fixes.class_names, object)[fixes.wanted]
    frame = pd.DataFrame({"path": fixes.paths_from(target.parent, source), label: labels})[fixes.kept]
    if target.suffix.lower() == ".parquet":
        frame.to_parquet(temporary, index=False)
    else:
        mark = "\t" if target.suffix.lower() == ".tsv" else ","
        frame.to_csv(temporary, sep=mark, index=False, lineterminator="\n")


def _copy_folders(source: Path, target: Path, fixes: Fixes) -> None:
    """Class folders in which dropped pictures are missing and relabelled ones are in another folder.

    Other parts and files are there, too, except hidden ones.
    """
    assert fixes.names is not None
    pictures, parts = set(fixes.names), [Path(name).parts for name in fixes.names]
    given = [fixes.class_names[label] for label in fixes.given]
    inside = all(".." not in own and not os.path.isabs(own[0]) for own in parts)
    if not inside or not all(name == os.path.basename(name) != ".." for name in fixes.class_names):
        raise InputError(f"{source}: the audit names files outside of this folder; run the audit again.")
    for folder, folders, files in os.walk(source):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for file in files:
            name = os.path.relpath(os.path.join(folder, file), source)
            if not file.startswith(".") and name not in pictures:
                _link(source / name, target / name)
    for row in np.flatnonzero(fixes.kept & ~fixes.changed).tolist():
        _link(source / fixes.names[row], target / fixes.names[row])
    depth = 0 if all(own[0] == name for own, name in zip(parts, given, strict=True)) else 1
    for row in np.flatnonzero(fixes.kept & fixes.changed).tolist():
        new = fixes.class_names[fixes.wanted[row]]
        place = target.joinpath(*parts[row][:depth], new, *parts[row][depth + 1 :])
        free, number = place, 2
        while free.exists():  # the other class may have a picture of the same name
            free, number = place.with_name(f"{place.stem}-{number}{place.suffix}"), number + 1
        _link(source / fixes.names[row], free)


def _link(source: Path, target: Path) -> None:
    """A hard link to a file, or a copy where the file system has none."""
    target.parent.mkdir(parents=True, exist_ok=True)
    real = source.resolve()
    try:
        os.link(real, target)
    except OSError:
        shutil.copy2(real, target)

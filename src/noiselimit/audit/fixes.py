"""Cleaned copies of the data: flagged rows dropped or relabelled. The source is never changed."""

import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet

from noiselimit.audit.issues import Audit
from noiselimit.audit.quality import Flags, Labels
from noiselimit.audit.report import to_class_names
from noiselimit.data.examples import DataSet
from noiselimit.data.npz import LABELS, TEST_INPUTS, TEST_LABELS
from noiselimit.data.table_file import separator
from noiselimit.errors import InputError
from noiselimit.files import atomic_file

Fix = Literal["drop", "relabel"]
NOT_PER_EXAMPLE = frozenset({"class_names", "test_clean_labels", *TEST_INPUTS, *TEST_LABELS})
"""Arrays of an .npz file that have no row per example, even if their length happens to match."""


def write_cleaned(
    source: Path,
    target: Path,
    audit: Audit,
    fix: Fix = "drop",
    *,
    data: DataSet,
    label: str | None = None,
    overwrite: bool = False,
) -> dict[str, int]:
    """Write a copy of `source`, which `data` were read from; drop or relabel flagged rows.

    Columns, their order, cell texts and types stay as they are. Of picture files, the copy is a list of
    labels and paths relative to the list. `label` names the column of labels in a table. Returns how many
    rows are in the copy, were dropped and got another label.
    """
    check_cleaned_target(source, target, overwrite=overwrite)
    if audit.flags_withheld:
        raise InputError(
            f"{target}: no cleaned copy was written, because the audit is not reliable; follow its warning, "
            "or choose what to flag with --budget, --expect-noise or --min-quality."
        )
    fixes = Fixes.from_table(audit.table, fix)
    with atomic_file(target) as temporary:
        label = label or "label"
        if source.is_dir() or data.examples.names is not None:
            frame = _picture_list(source, target, label, fixes, data)
            if target.suffix.lower() == ".parquet":
                frame.to_parquet(temporary, index=False)
            else:
                mark = "\t" if target.suffix.lower() == ".tsv" else ","
                frame.to_csv(temporary, sep=mark, index=False, lineterminator="\n")
        else:
            WRITERS[source.suffix.lower()](source, temporary, fixes, label)
    kept = int(fixes.kept.sum())
    return {"rows": kept, "dropped": len(fixes.kept) - kept, "relabelled": int(fixes.changed.sum())}


def check_cleaned_target(source: Path, target: Path, *, overwrite: bool = False) -> None:
    """Reject a target that cannot be written; call it before training."""
    if not source.exists():
        raise InputError(f"{source}: no such file or folder to copy from; leave out --write.")
    ending = ".csv" if source.is_dir() else source.suffix.lower()
    if not source.is_dir() and ending not in WRITERS:
        raise InputError(f"{source}: only {', '.join(WRITERS)} files and class folders can be copied.")
    if target.suffix.lower() != ending:
        raise InputError(f"{target}: a cleaned copy of {source} must end in {ending}; rename it.")
    if (target.exists() and target.samefile(source)) or target.resolve().is_relative_to(source.resolve()):
        raise InputError(f"{target}: the source is never changed; name a file outside of it.")
    if target.exists() and not overwrite:
        raise InputError(f"{target}: this file exists; name another one or use --overwrite.")


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
    """[n]: the predicted label if changed, else the given one."""

    @classmethod
    def from_table(cls, table: pd.DataFrame, fix: Fix) -> "Fixes":
        """From the table of an audit."""
        flagged = table["is_label_issue"].to_numpy(bool)
        given, predicted = (
            table[name].fillna(-1).to_numpy(np.int64) for name in ("given_label", "predicted_label")
        )
        kept, changed = ~flagged | (fix == "relabel"), flagged & (given != predicted) & (fix == "relabel")
        return cls(kept, changed, given, np.where(changed, predicted, given))

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
            raise InputError(f"{source}: a suggested label occurs in no row; use --fix drop.")
        return np.where(self.changed, rows, np.arange(len(labels)))


def _clean_csv(source: Path, target: Path, fixes: Fixes, label: str) -> None:
    mark = separator(source)
    cells = pd.read_csv(source, sep=mark, header=None, dtype=str, na_filter=False, encoding="utf-8-sig")
    header, cells = cells[:1], cells[1:].reset_index(drop=True)
    place = header.iloc[0].tolist().index(label)
    cells[place] = cells[place].to_numpy()[fixes.label_rows(cells[place], source)]
    cleaned = pd.concat([header, cells[fixes.kept]])
    cleaned.to_csv(target, sep=mark, index=False, header=False, lineterminator="\n")


def _clean_parquet(source: Path, target: Path, fixes: Fixes, label: str) -> None:
    table = pyarrow.parquet.read_table(source)
    place = table.schema.get_field_index(label)
    column = table.column(place).unify_dictionaries()
    rows = fixes.label_rows(column.to_pandas(), source)
    table = table.set_column(place, table.schema.field(place), column.take(pyarrow.array(rows)))
    pyarrow.parquet.write_table(table.filter(pyarrow.array(fixes.kept)), target)


def _clean_npz(source: Path, target: Path, fixes: Fixes, label: str) -> None:
    with np.load(source, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    labels = next(name for name in LABELS if name in arrays)
    arrays[labels] = arrays[labels][fixes.label_rows(arrays[labels], source)]
    for name, array in arrays.items():
        if name not in NOT_PER_EXAMPLE and array.ndim and len(array) == len(fixes.kept):
            arrays[name] = array[fixes.kept]
    with zipfile.ZipFile(source) as archive:
        compressed = any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist())
    with target.open("wb") as out:
        (np.savez_compressed if compressed else np.savez)(out, **arrays)


WRITERS: dict[str, Callable[[Path, Path, Fixes, str], None]] = {
    ".csv": _clean_csv,
    ".tsv": _clean_csv,
    ".parquet": _clean_parquet,
    ".npz": _clean_npz,
}


def _picture_list(source: Path, target: Path, label: str, fixes: Fixes, data: DataSet) -> pd.DataFrame:
    """Paths, relative to the folder of the target unless the source has absolute ones, and labels."""
    names = data.examples.names
    if names is None:
        raise InputError(f"{source}: this is no folder of class folders; leave out --write.")
    old, new = (source if source.is_dir() else source.parent).resolve(), target.resolve().parent
    if old != new:
        names = [name if os.path.isabs(name) else os.path.relpath(old / name, new) for name in names]
    labels = to_class_names(pd.Series(fixes.wanted), data.examples.class_names)
    return pd.DataFrame({"path": list(names), label: labels})[fixes.kept]

"""A cleaned copy of the data: flagged rows dropped, or given the label that the audit suggests."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow
import pyarrow.csv

from noiselimit.audit.cleaned_csv import clean_csv
from noiselimit.audit.cleaned_npz import clean_npz
from noiselimit.audit.cleaned_parquet import clean_parquet
from noiselimit.audit.fixes import Fixes
from noiselimit.audit.issues import Audit
from noiselimit.audit.write import called
from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError, unknown
from noiselimit.files import atomic_file
from noiselimit.opening import name_for_libraries

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
    if audit.silent:
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
    labels = called(column, data.examples.class_names)
    table = pyarrow.table(
        {"path": pyarrow.array(names, pyarrow.string()), "label": pyarrow.array(labels, pyarrow.string())}
    )
    with name_for_libraries(target, create=True) as known:
        pyarrow.csv.write_csv(table.filter(pyarrow.array(fixes.kept)), known)

"""Where an audit writes: all that can be wrong with it is said before anything large is read or trained."""

import os
from pathlib import Path

from noiselimit.errors import InputError, unknown


def usual_folder(source: str) -> Path:
    """`audit-digits` for digits, `audit-customers` for data/customers.csv, `audit-photos` for photos/."""
    path = Path(source)
    name = path.resolve().name if path.is_dir() else path.stem
    return Path(f"audit-{name or 'data'}")


def check_places(source: str, out: Path, write: Path | None, fix: str | None, *, overwrite: bool) -> None:
    """Complain where the audit or the cleaned copy may not be written; the source is never written to."""
    from noiselimit.audit.write import check_audit_folder

    given = _path_of(source)
    if given is not None and _is_inside(out, given):
        raise InputError(f"{out}: this is inside the data, which are never changed; name another --out.")
    if given is not None and _is_inside(given, out):
        raise InputError(f"{out}: this holds the data, which are never changed; name another --out.")
    check_audit_folder(out, overwrite=overwrite)
    _require_writable(out)
    if fix is not None and fix not in ("drop", "relabel"):
        raise unknown("fix", fix, ("drop", "relabel"))
    if fix is not None and write is None:
        raise InputError(f"fix is {fix}, but no cleaned copy is asked for: add --write FILE.")
    if write is not None:
        _check_cleaned(source, given, write, out, overwrite=overwrite)


def _path_of(source: str) -> Path | None:
    """The user's own file or folder; None for a named data set."""
    from noiselimit.data.catalogue import DATA_SETS

    return None if source in DATA_SETS else Path(source)


def _check_cleaned(source: str, given: Path | None, write: Path, out: Path, *, overwrite: bool) -> None:
    from noiselimit.audit.cleaned import check_cleaned_target
    from noiselimit.data.idx import holds_idx

    if given is None or (given.is_dir() and holds_idx(given)):
        raise InputError(
            f"{source}: these data are neither a table, an .npz file nor class folders, so there is nothing "
            "to write a cleaned copy of; leave out --write."
        )
    if _is_inside(write, out):
        raise InputError(
            f"{write}: this is inside {out}, which holds the audit alone; name another place for --write."
        )
    check_cleaned_target(given, write, overwrite=overwrite)
    if write.is_dir():
        raise InputError(f"{write}: this is a folder; name a file for --write.")
    _require_writable(write)


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _require_writable(path: Path) -> None:
    """Without making anything: the nearest folder above that is there must take new files."""
    above = next(parent for parent in path.resolve().parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        reason = "a folder that takes no new files" if above.is_dir() else "no folder"
        raise InputError(f"{path}: {above} is {reason}; name another place.")

"""Writing so that a reader never sees half a file: a temporary name beside the target, then a rename."""

import errno
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from noiselimit.errors import InputError
from noiselimit.temporaries import clear_abandoned, held_temporary, is_leftover

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""What a disk says that has no room."""
_MASK = re.compile(rb"^Umask:\s*([0-7]+)$", re.MULTILINE)
_HALVES = re.compile("[\ud800-\udfff]")
"""Of surrogate pairs: by one alone Python stands for a byte of a name that is not UTF-8."""


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; it becomes `path` when the block ends without an exception.

    What killed processes left of the same file is removed first, where the system has locks (not on Windows).
    """
    parent = make_folder(path.parent)
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder; name a file.")
    clear_abandoned(path)
    handle, temporary = held_temporary(path)
    try:
        yield temporary
        _sync(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        sync_folder(parent)
    except OSError as error:
        if error.filename == str(temporary) or (error.filename is None and error.errno in FULL):
            error.filename = str(path)  # the name that people know; a full disk names none
        raise
    finally:
        temporary.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder to fill; it becomes `path`, which must not exist, when the block ends well."""
    parent = make_folder(path.parent)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=parent))
    try:
        yield temporary
        for file in temporary.iterdir():
            file.chmod(0o666 & ~_umask())  # some writers keep their files to themselves
            _sync(file)
        temporary.chmod(0o777 & ~_umask())
        sync_folder(temporary)
        temporary.rename(path)
        sync_folder(parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def clear_leftovers(parent: Path, name: str) -> None:
    """Remove what killed processes left of folders whose names match; nobody may write one now."""
    for entry in parent.glob(".*.tmp"):
        if is_leftover(entry, name):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def make_folder(path: Path) -> Path:
    """Create the folder if need be and make sure that files can be created in it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        reason = error.strerror or error
        if isinstance(error, FileExistsError) and not os.path.exists(error.filename):
            reason = "a link that leads nowhere"
        raise InputError(f"cannot write to folder {path} ({reason}): choose another one.") from None
    return path


def refuse_link(path: Path) -> None:
    """Complain of a link where a folder of ours belongs: what it leads to is somebody else's."""
    if path.is_symlink():
        raise InputError(f"{path} is a link, which is not followed: delete it.")


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically."""
    with atomic_file(path) as temporary:
        temporary.write_text(json_text(value), "utf-8")


def json_text(value: Any) -> str:
    """Indented JSON with a newline at the end; NaN is refused, since few other readers accept it.

    What is no text in UTF-8, such as a file's name in an older encoding, is written as JSON's own escapes.
    """
    text = json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    return _HALVES.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _sync(path: Path) -> None:
    """Force the bytes to disk before the rename makes them visible."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def sync_folder(path: Path) -> None:
    """Force the names in a folder to disk, where the system lets one do that."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    """The process's file-mode mask."""
    with suppress(OSError):
        if found := _MASK.search(Path("/proc/self/status").read_bytes()):
            return int(found[1], 8)
    mask = os.umask(0o077)  # other systems show it only while setting it: what threads make now is private
    os.umask(mask)
    return mask

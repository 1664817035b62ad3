"""Reading files safely, writing them atomically, and locking folders."""

import errno
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

from noiselimit.errors import InputError

LARGEST_TEXT = 64 * 2**20
"""Largest JSON or TOML file that is read, in bytes; its Python objects can take twenty times as much."""
LARGEST_NUMBER = 1e300
"""Largest number accepted in a JSON file, so that sums and means stay finite."""
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Error numbers of a disk without space."""
LOCK_TIMEOUT = 3.0
"""Seconds to wait for a lock: a process that was just interrupted needs up to two to end."""


def open_regular(path: str | bytes | Path) -> BufferedReader:
    """Open a regular file for reading bytes; a pipe or device, which could block forever, is refused."""
    require_regular(path)
    return open(path, "rb")


def require_regular(path: str | bytes | Path) -> None:
    """Raise an OSError unless the path is a regular file; for files that a library opens by name."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fsdecode(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", os.fsdecode(path))


def read_bytes(path: Path, largest: int | None = None) -> bytes:
    """Read a whole file, which may have at most `largest` bytes."""
    with open_regular(path) as file:
        if largest is not None and os.fstat(file.fileno()).st_size > largest:
            raise OSError(errno.EFBIG, f"larger than {largest >> 20} MiB", str(path))
        return file.read()


def read_small_text(path: Path) -> str:
    """Read a whole JSON or TOML file in UTF-8."""
    return read_bytes(path, LARGEST_TEXT).decode("utf-8")


def finite_json(text: str) -> Any:
    """Parse JSON; a ValueError if it holds NaN, infinity, a huge number or text that is not valid Unicode."""

    def finite(number: str) -> float:
        if not abs(float(number)) < LARGEST_NUMBER:
            raise ValueError(f"{number[:30]} is not a finite number")
        return float(number)

    def whole(number: str) -> int:
        if abs(int(number)) >= 2**63:
            raise ValueError(f"{number[:30]} is too large")
        return int(number)

    value = json.loads(text, parse_float=finite, parse_constant=finite, parse_int=whole)
    json.dumps(value, ensure_ascii=False).encode()  # fails for an unpaired surrogate
    return value


def json_text(value: Any) -> str:
    """Format as indented JSON; NaN raises a ValueError, because few other readers accept it."""
    return json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically."""
    with atomic_file(path) as temporary:
        temporary.write_text(json_text(value), "utf-8")


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; it becomes `path` if the block ends without an exception."""
    make_folder(path.parent)
    if path.exists() and not path.is_file():  # a folder, or a device such as /dev/null
        raise InputError(f"cannot write {path}: it is not a regular file; name another.")
    temporary = temporary_name(path)
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
        sync(path.parent)
    except OSError as error:
        if error.filename == str(temporary) or (error.filename is None and error.errno in FULL):
            error.filename = str(path)  # the name that the user knows
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary folder to fill; it becomes `path` if the block succeeds.

    The folder must not exist, unless you `replace` it. If the process is killed while it does so, the next
    call of `restore_folder` brings the old folder back.
    """
    make_folder(path.parent)
    temporary = temporary_name(path)
    temporary.mkdir()
    try:
        yield temporary
        for file in temporary.iterdir():
            sync(file)
        sync(temporary)
        if replace and path.exists():
            path.rename(_old(path))
        temporary.rename(path)
        sync(path.parent)
    finally:
        if replace:
            restore_folder(path)
        shutil.rmtree(temporary, ignore_errors=True)


def restore_folder(path: Path) -> None:
    """Finish or undo a replacement that was interrupted: the old folder goes if there is a new one."""
    old = _old(path)
    if path.exists():
        shutil.rmtree(old, ignore_errors=True)
    elif old.is_dir():
        old.rename(path)


def _old(path: Path) -> Path:
    return path.with_name(f".{path.name}.noiselimit-old")


def clear_leftovers(parent: Path, name: str) -> None:
    """Remove what killed processes left of targets whose names match; call this with the lock held."""
    for entry in parent.glob(".*.tmp"):
        if re.fullmatch(rf"\.(?:{name})\.[0-9a-f]{{8}}\.tmp", entry.name):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def make_folder(path: Path) -> Path:
    """Create the folder if needed and check that it is writable."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        reason = "not a folder" if isinstance(error, FileExistsError) else error.strerror or error
        raise InputError(f"cannot write to folder {path} ({reason}): choose another one.") from None
    return path


def temporary_name(path: Path) -> Path:
    """A new name beside `path` that `clear_leftovers` recognises."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


def sync(path: Path) -> None:
    """Force a file's bytes, or a folder's names, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        if not path.is_dir():  # not every file system can sync a folder
            raise
    finally:
        os.close(handle)


@contextmanager
def folder_lock(folder: Path, file: Path | None = None) -> Iterator[None]:
    """Keep other processes out of a folder, by a lock on `file`, which is otherwise .lock in the folder.

    The same thread may lock it again. Folders created here that stay empty are removed at the end.
    """
    file = file or folder / ".lock"
    try:
        from filelock import FileLock, Timeout
    except ModuleNotFoundError:  # a minimal installation: nothing else guards the folder then
        yield
        return
    created = [each for each in file.parents if not each.exists()]
    file = make_folder(file.parent).resolve() / file.name
    lock = FileLock(file, timeout=LOCK_TIMEOUT, is_singleton=True)
    try:
        lock.acquire()
    except Timeout:
        raise InputError(
            f"{folder} is in use by another process: wait until it ends, or choose another folder."
        ) from None
    try:
        yield
    finally:
        if lock.lock_counter == 1:
            with suppress(OSError):  # Windows cannot delete an open file
                file.unlink()  # while locked: a process that waits notices and creates a new one
        lock.release()
        for each in created:
            with suppress(OSError):
                each.rmdir()

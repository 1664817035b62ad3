"""Temporary files whose writers are alive are held (flock): what nobody holds, a killed process left.

Where the system (Windows) or the file system has no such locks nothing can be told, and nothing is removed.
"""

import os
import re
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl


def is_leftover(entry: Path, name: str) -> bool:
    """Whether it is called like a temporary file or folder of one whose name matches."""
    return re.fullmatch(rf"\.(?:{name})\.[a-z0-9_]{{8}}\.tmp", entry.name) is not None


def held_temporary(path: Path) -> tuple[int | None, Path]:
    """A new file beside `path`, and the handle that holds it until it is closed."""
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        if sys.platform == "win32":
            os.close(handle)  # what is open cannot be renamed there
            return None, Path(name)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if is_named(handle, Path(name)):
            return handle, Path(name)
        os.close(handle)  # somebody has cleared it away before it was held


def clear_abandoned(path: Path) -> None:
    """Remove temporary files of `path` that nobody holds."""
    if sys.platform == "win32":
        return
    for entry in path.parent.glob(".*.tmp"):
        if is_leftover(entry, re.escape(path.name)):
            with suppress(OSError):
                handle = os.open(entry, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    entry.unlink()
                finally:
                    os.close(handle)


def is_named(handle: int, path: Path) -> bool:
    """Whether the open file still has this name."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False

"""Opening files that others made: regular ones alone, and none that no memory could hold.

A pipe would make its reader wait for ever, and a device such as /dev/zero has no end; either may stand under
any name, as a link too. Whatever is refused is an OSError, which readers put in a sentence of their own.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

LARGEST_TEXT = 64 * 2**20
"""Bytes of a file of JSON or TOML; Python's objects for them can take twenty times as many."""
_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


def open_regular(path: str | bytes | Path) -> BinaryIO:
    """The file, open for reading bytes."""
    handle = os.open(path, os.O_RDONLY | _WITHOUT_WAITING)
    try:
        _require(os.fstat(handle), path)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def require_regular(path: str | bytes | Path) -> None:
    """The same question before a library opens the file by its name."""
    _require(os.stat(path), path)


@contextmanager
def name_for_libraries(path: Path, *, create: bool = False) -> Iterator[Path]:
    """A name by which libraries that know only UTF-8 can open the file, whatever name it has.

    With `create` it is one to write to. Where all names are UTF-8 (macOS, Windows) it is the file's own.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        with path.open("wb") if create else open_regular(path) as file:
            yield Path(f"/proc/self/fd/{file.fileno()}")
    else:
        yield path


def read_bytes(path: Path, largest: int | None = None) -> bytes:
    """All of a file, which may have at most so many bytes."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if largest is not None and size > largest:
            raise OSError(errno.EFBIG, f"it has more than {largest >> 20} MiB", str(path))
        return file.read(size)


def read_small_text(path: Path) -> str:
    """All of a file of JSON or TOML, in UTF-8."""
    return read_bytes(path, LARGEST_TEXT).decode("utf-8")


def _require(status: os.stat_result, path: str | bytes | Path) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fsdecode(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", os.fsdecode(path))
    if status.st_size > _most_bytes():
        raise OSError(
            errno.EFBIG, "it has more than twice the bytes of this machine's memory", os.fsdecode(path)
        )


def _most_bytes() -> float:
    """Of any file that is read whole. Numbers in text can take half of the room in memory, hardly less."""
    try:
        return 2.0 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows, and systems that do not tell
        return float("inf")

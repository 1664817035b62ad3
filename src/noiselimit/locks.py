"""One process at a time works in a folder, or on a file, by a lock that dies with its holder.

It is the system's (flock) on the file .lock in the folder, or .NAME.lock beside what is replaced as a whole,
which names the holder. Whatever ends the holder frees it: a file that a killed process left stands in
nobody's way, and goes with the next who holds it. Where the system (Windows) or the file system has no such
locks there is none.
"""

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from noiselimit.errors import InputError
from noiselimit.files import make_folder
from noiselimit.temporaries import is_named

if sys.platform != "win32":
    import fcntl

FILE = ".lock"
PATIENCE = 3.0
"""Seconds to wait for the holder: one that was interrupted just now needs two to end."""

_held: dict[str, tuple[int, int]] = {}
"""Real path → thread that holds the lock, and its file handle."""


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold the folder, which is made if need be and must not be moved; refuse if others have it for long.

    Who holds it may ask for it again. Folders that were made and stay empty are removed in the end.
    """
    with _lock(folder / FILE, f"{folder} is in use by", "choose another folder"):
        yield


@contextmanager
def file_lock(path: Path, *, called: Path | None = None, remedy: str = "name another file") -> Iterator[None]:
    """Hold a file or folder that is replaced as a whole, and may not be there yet, in the same way.

    Who is refused hears of it by the name that it is `called`.
    """
    with _lock(path.parent / f".{path.name}{FILE}", f"{called or path} is in use by", remedy):
        yield


@contextmanager
def _lock(file: Path, complaint: str, remedy: str) -> Iterator[None]:
    place = os.path.realpath(file)
    if _held.get(place, (0, 0))[0] == threading.get_ident() or sys.platform == "win32":
        yield
        return
    made: list[Path] = []
    handle = _acquired(file, made, complaint, remedy)
    if handle is not None:
        _held[place] = threading.get_ident(), handle
    try:
        yield
    finally:
        if handle is not None:
            del _held[place]
            if is_named(handle, file):  # else it is another's, who found none here
                with suppress(OSError):
                    file.unlink()  # before the lock goes: then nobody holds a file without a name
            os.close(handle)
        for each in made:
            with suppress(OSError):
                each.rmdir()


def _acquired(file: Path, made: list[Path], complaint: str, remedy: str) -> int | None:
    """Handle of the file that is locked now; None where files cannot be locked. Notes the folders it made."""
    give_up = time.monotonic() + PATIENCE
    while True:
        made += [each for each in file.parents if not each.exists() and each not in made]
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and time.monotonic() < give_up:
                continue  # who was there just now has removed the folder
            make_folder(file.parent)  # says what is wrong with it
            raise InputError(f"{file} cannot be opened ({error.strerror}): delete it.") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(handle)
            os.close(handle)
            if time.monotonic() > give_up:
                raise InputError(f"{complaint} {holder}: wait until it ends, or {remedy}.") from None
            time.sleep(0.05)
            continue
        except OSError:
            os.close(handle)
            return None
        if is_named(handle, file):
            with suppress(OSError):  # a full disk
                os.ftruncate(handle, 0)
                os.write(handle, f"{os.getpid()} {socket.gethostname()}\n".encode())
            return handle
        os.close(handle)


def _holder(handle: int) -> str:
    """'process 4711', and where it is if that is another machine."""
    words = os.pread(handle, 300, 0).decode(errors="replace").split()
    if len(words) != 2 or not words[0].isdecimal():
        return "another process"
    return f"process {words[0]}" + ("" if words[1] == socket.gethostname() else f" on {words[1]}")


def _let_go() -> None:
    """In a child: what it inherited would keep a dead parent's locks."""
    for _, handle in _held.values():
        with suppress(OSError):
            os.close(handle)
    _held.clear()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_let_go)

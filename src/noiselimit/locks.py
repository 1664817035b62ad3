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
    handles: list[int] = []
    try:
        _acquire(file, made, handles, complaint, remedy)
        _held[place] = threading.get_ident(), handles[0]
        yield
    finally:  # Ctrl-C may have come at any line of the above, and its file is to go all the same
        if handles and _held.get(place) == (threading.get_ident(), handles[0]):
            del _held[place]
        _remove(file, handles)
        for each in made:
            with suppress(OSError):
                each.rmdir()


def _acquire(file: Path, made: list[Path], handles: list[int], complaint: str, remedy: str) -> None:
    """Lock the file, where files can be locked. Notes the folders it made, and the handle of the file."""
    give_up = time.monotonic() + PATIENCE
    while True:
        made += [each for each in file.parents if not each.exists() and each not in made]
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            handles.append(os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666))
        except OSError as error:
            if isinstance(error, FileNotFoundError) and time.monotonic() < give_up:
                continue  # who was there just now has removed the folder
            make_folder(file.parent)  # says what is wrong with it
            raise InputError(f"{file} cannot be opened ({error.strerror}): delete it.") from None
        try:
            fcntl.flock(handles[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up:
                holder = _holder(handles[0])
                raise InputError(f"{complaint} {holder}: wait until it ends, or {remedy}.") from None
            os.close(handles.pop())
            time.sleep(0.05)
            continue
        except OSError:  # none here
            return
        if is_named(handles[0], file):
            with suppress(OSError):  # a full disk
                os.ftruncate(handles[0], 0)
                os.write(handles[0], f"{os.getpid()} {socket.gethostname()}\n".encode())
            return
        os.close(handles.pop())


def _remove(file: Path, handles: list[int]) -> None:
    """Take the file away if we hold it by this handle, or if nobody holds it; then let it go."""
    with suppress(OSError):
        handle = handles[0] if handles else os.open(file, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # ours already, or nobody's, or refused
            if is_named(handle, file):  # else it is another's, who found none here
                file.unlink()  # before the lock goes: then nobody holds a file without a name
        finally:
            os.close(handle)


def remove_held() -> None:
    """For a process that ends in the middle of things: the files go here, the locks with the process."""
    for place, (_, handle) in list(_held.items()):
        with suppress(OSError):
            if is_named(handle, Path(place)):
                os.unlink(place)


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

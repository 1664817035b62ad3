"""One process at a time works in a folder, or on a file, by a lock that dies with its holder.

It is the system's (flock) on the file .lock in the folder, or .NAME.lock beside what is replaced as a whole,
which names the holder. Whatever ends the holder frees it: a file that a killed process left stands in
nobody's way, and goes with the next who holds it. Where the system (Windows) or the file system has no such
locks there is none.
"""

import errno
import json
import os
import re
import shutil
import socket
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from noiselimit.errors import InputError

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


LARGEST = 1e300
"""Of a number in a file: sums and means of such are still finite."""


def finite_json(text: str) -> Any:
    """The JSON value, in which numbers are finite and text can be written again; else a ValueError."""

    def finite(number: str) -> float:
        if not abs(float(number)) < LARGEST:
            raise ValueError(f"{number} is no number to reckon with")
        return float(number)

    def countable(number: str) -> int:
        if not -(2**63) <= int(number) < 2**63:
            raise ValueError(f"{number[:30]} is beyond all that is counted here")
        return int(number)

    value = json.loads(text, parse_float=finite, parse_constant=finite, parse_int=countable)
    json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is an error
    return value


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

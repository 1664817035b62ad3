"""When a child dies: before its k-th change on disk, or in the middle of a file."""

import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate", "shutil.rmtree"}


def at_change(
    number: int, folder: Path, act: Callable[[], None], note: Path | None = None
) -> Callable[[], None]:
    """A fault: act just before the so manieth change in the folder, counted from 1.

    Python announces what it is about to do to files; what other languages write lies between these moments.
    In the file `note` a byte is written for every change.
    """

    def fault() -> None:
        root, seen, real = f"{folder.resolve()}{os.sep}", 0, os.fsync
        noted = None if note is None else os.open(note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

        def count() -> None:
            nonlocal seen
            seen += 1
            if noted is not None:
                os.write(noted, b".")
            if seen == number:
                act()

        def hear(event: str, arguments: tuple[Any, ...]) -> None:
            writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            named = (writes or event in CHANGES) and isinstance(arguments[0], str | bytes | os.PathLike)
            if named and os.path.abspath(os.fsdecode(arguments[0])).startswith(root):
                count()

        def sync(handle: Any) -> None:
            count()
            real(handle)

        os.fsync = sync
        sys.addaudithook(hear)

    return fault


def die() -> None:
    """As by kill -9 from outside."""
    os.kill(os.getpid(), signal.SIGKILL)


def signal_itself(number: int, note: Path) -> Callable[[], None]:
    """As from outside; the file `note` then has the clock's time."""

    def act() -> None:
        note.write_text(str(time.monotonic()))
        os.kill(os.getpid(), number)

    return act


def die_in_a_file_beyond(size: int) -> Callable[[], None]:
    """From now on, the system ends the process at once when it writes more than so many bytes of a file."""

    def act() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGXFSZ})
        _default_action()
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    return act


def refuse_files_beyond(size: int) -> Callable[[], None]:
    """From now on, the system refuses to write more than so many bytes of a file, as on a full disk."""

    def act() -> None:  # Python ignores the signal, so that the call fails instead
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    return act


def _default_action() -> None:
    """For SIGXFSZ, also from a thread, where Python's own function refuses."""
    import ctypes

    libc = ctypes.CDLL(None)
    libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    libc.signal(signal.SIGXFSZ, None)  # SIG_DFL

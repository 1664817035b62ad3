"""Ctrl-C and SIGTERM end a command within two seconds, and what was done stays."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn, TextIO


def say_last(text: str) -> None:
    """Print on stderr, or nowhere if the disk is full there too."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        drop(sys.stderr)


def drop(stream: TextIO) -> None:
    """Let what the stream still holds go nowhere, or Python complains once more when it ends."""
    with suppress(OSError):  # one that is no file, as in a notebook
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def open_closed() -> None:
    """Let what is said on a stream that was closed (`>&-`) go nowhere.

    Else a file that is opened next would get its number, and with it whatever libraries say there.
    """
    handle = os.open(os.devnull, os.O_RDWR)
    while handle <= 2:
        os.set_inheritable(handle, True)
        handle = os.open(os.devnull, os.O_RDWR)
    os.close(handle)
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", errors="replace", closefd=False))


INTERRUPTED = 130  # what shells report for a command that Ctrl-C ended
TERMINATED = 143  # and for one that SIGTERM ended
LATEST = 1.5
"""Seconds after which we leave whatever is still under way: files are whole at every moment anyway."""


KEEPING = ("train", "demo", "audit")
"""Commands that go on with what is done."""
GOES_ON = "what was finished is kept, and the same command goes on"
STARTS_ANEW = "nothing is half written, and the same command starts anew"


class Interrupted(Exception):  # noqa: N818  # no error: somebody wished it
    """Carries what the command line says after 'interrupted; ': what is kept, and what the next call does."""


_told_inside: list[Callable[[], str]] = []


@contextmanager
def telling(kept: Callable[[], str]) -> Iterator[None]:
    """Let what is said of an interruption inside be what `kept` says then; it may be asked by any thread."""
    _told_inside.append(kept)
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(kept()) from None
    finally:
        _told_inside.pop()


class Ending:
    """How a command that was interrupted ends: what it says, once, and its exit code."""

    def __init__(self) -> None:
        self.begin("")

    def listen(self) -> None:
        """From now on both signals stop what is under way; Ctrl-C not where a script switched it off."""
        signals, wakes = os.pipe()
        os.set_blocking(wakes, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        threading.Thread(target=self._leave, args=(signals,), daemon=True).start()
        signal.signal(signal.SIGTERM, self._stop)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._stop)

    def begin(self, typed: str) -> None:
        """A command begins, which was typed like this."""
        self._code, self._typed, self._told = INTERRUPTED, typed, threading.Lock()
        self.heard = False
        """Whether a signal came; then an error, such as of an import that it broke off, is none."""

    def tell(self, kept: str | None = None) -> int:
        """Say what is kept, and the command to go on with; returns the exit code."""
        kept = kept or (GOES_ON if self._typed.startswith(KEEPING) else STARTS_ANEW)
        if self._told.acquire(blocking=False):
            say_last(f"noiselimit: interrupted; {kept}:\nnoiselimit {self._typed}")
        return self._code

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.heard:
            return  # it is ending, and `_leave` sees to it that it does
        self._code = TERMINATED if number == signal.SIGTERM else INTERRUPTED
        self.heard = True
        raise KeyboardInterrupt

    def _leave(self, signals: int) -> None:
        """Hear of signals even where the main thread, which is to stop, is inside one long call and does not.

        A step of a large network, reading a file or scoring may take longer than anybody waits.
        """
        while (number := os.read(signals, 1)[0]) not in (signal.SIGINT, signal.SIGTERM):
            pass
        self._code = TERMINATED if number == signal.SIGTERM else INTERRUPTED
        time.sleep(LATEST)
        kept = None
        with suppress(Exception):  # files come and go meanwhile
            kept = _told_inside[-1]()
        self.tell(kept)
        os._exit(self._code)


def end(code: int) -> NoReturn:
    """End the process with this exit code, at once when it was interrupted.

    Python has marked itself as interrupted when the signal came while it ran a text, as it does when many
    libraries are imported; it would then die of SIGINT in the end, whatever the exit code. Nothing that is
    left to do then is needed: files are whole, and processes that work for this one watch it.
    """
    if code not in (INTERRUPTED, TERMINATED):
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)

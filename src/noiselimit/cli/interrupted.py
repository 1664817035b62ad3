"""Ctrl-C and SIGTERM end a command within two seconds, and what was done stays."""

import os
import signal
import sys
import threading
import time
from types import FrameType

INTERRUPTED = 130  # what shells report for a command that Ctrl-C ended
TERMINATED = 143  # and for one that SIGTERM ended
LATEST = 1.8
"""Seconds after which we leave whatever is still under way: files are whole at every moment anyway."""


class Interrupted(Exception):  # noqa: N818  # no error: somebody wished it
    """Carries what the command line says after 'interrupted; ': what is kept, and what the next call does."""


class Ending:
    """How a command that was interrupted ends: what it says, once, and its exit code."""

    def __init__(self) -> None:
        self._code = INTERRUPTED
        self._typed = ""
        self._told = threading.Lock()

    def listen(self) -> None:
        """From now on both signals stop what is under way; Ctrl-C not where a script switched it off."""
        signal.signal(signal.SIGTERM, self._stop)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._stop)

    def begin(self, typed: str) -> None:
        """A command begins, which was typed like this."""
        self._code, self._typed, self._told = INTERRUPTED, typed, threading.Lock()

    def tell(self, kept: str = "finished runs are kept, and the same command goes on") -> int:
        """Say what is kept, and the command to go on with; returns the exit code."""
        if self._told.acquire(blocking=False):
            print(f"noiselimit: interrupted; {kept}:\nnoiselimit {self._typed}", file=sys.stderr, flush=True)
        return self._code

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._code = TERMINATED if number == signal.SIGTERM else INTERRUPTED
        threading.Thread(target=self._leave, daemon=True).start()
        raise KeyboardInterrupt

    def _leave(self) -> None:
        """A step of a large network, or scoring, may take longer than anybody waits."""
        time.sleep(LATEST)
        self.tell()
        os._exit(self._code)

"""What a command says, where that cannot be written: then its exit code must do."""

import os
import sys
from contextlib import suppress
from typing import TextIO


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

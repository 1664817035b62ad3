"""What a command says in the end on stderr, even where that cannot be written: then its exit code must do."""

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

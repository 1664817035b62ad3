"""Processes that work for a training: without the user's script, and no longer than the training lives."""

import multiprocessing
import os
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection


def begin(parent: Connection, worker: int) -> None:
    """In a worker: Pillow's remarks on odd but readable files would be printed once per process.

    The other end of the connection is in the process that trains alone, and closes when that is killed. The
    worker's own parent, which torch watches, is the fork server: that in turn lives as long as its workers.
    """
    warnings.simplefilter("ignore")
    _end_after(partial(parent.poll, None))


@contextmanager
def watch() -> Iterator[int]:
    """Yield what a process that is started inside gets as its stdin, to see when this one is gone."""
    there, here = os.pipe()  # the latter is inherited by nobody, so it closes with this process
    try:
        yield there
    finally:
        os.close(there)
        os.close(here)


def end_with_parent() -> None:
    """In a process that was given a `watch`: end, at the latest, when the process that started it ends."""
    _end_after(partial(os.read, 0, 1))


def _end_after(wait: Callable[[], object]) -> None:
    def end() -> None:
        wait()
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def start_method(preload: str) -> str:
    """How processes are started that need the module `preload`, and what comes with it, at once."""
    if "forkserver" not in multiprocessing.get_all_start_methods():  # Windows
        return "spawn"
    _start_quiet_tracker()
    multiprocessing.set_forkserver_preload([preload])  # the server imports torch once, for all workers
    return "forkserver"


def _start_quiet_tracker() -> None:
    """Start the process that tidies up after one that was killed, told not to speak of it: we have spoken."""
    with _hiding:
        before = sys.warnoptions[:]
        sys.warnoptions.append(f"ignore::UserWarning:{resource_tracker.__name__}")
        try:
            resource_tracker.ensure_running()
        finally:
            sys.warnoptions[:] = before


_hiding = threading.RLock()


@contextmanager
def main_module_hidden() -> Iterator[None]:
    """Processes started inside do not run the user's script again, which they do not need.

    So a script works without `if __name__ == "__main__"`, and so does one that came from standard input.
    """
    with _hiding:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main

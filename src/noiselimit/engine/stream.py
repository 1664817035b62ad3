"""Pictures decoded by worker processes a few batches ahead of the arithmetic, and never more than these.

Workers come from a fork server: forking this process itself, whose other threads are inside torch, may copy a
held lock. What a worker is sent is one batch's file names, so it starts in no time and holds no list of all.
"""

import multiprocessing
import os
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, get_worker_info

from noiselimit.data.arrays import LazyInputs, View
from noiselimit.errors import InputError
from noiselimit.machine import available_cores


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


MOST_WORKERS = 8
AHEAD = 2
"""Batches that each worker may have ready or in hand."""

REMEDY = "free memory (also of /dev/shm), or use smaller batches."

Request = Sequence[tuple[int, View]]
"""One batch: which pictures, and which cut of each."""
Task = tuple[LazyInputs, tuple[View, ...]]
"""A request as a worker gets it: its pictures alone, and a view of each."""


class PictureStream:
    """Batches of pictures that do not fit in memory together."""

    def __init__(self, inputs: LazyInputs, workers: int | None = None) -> None:
        """`workers` processes decode, at most one per core; 0 decodes in this one; None chooses."""
        self.inputs = inputs
        # A daemon may have no children, so it decodes by itself. More than cores, torch would warn of.
        cores = 0 if multiprocessing.current_process().daemon else available_cores()
        self.workers = min(cores, MOST_WORKERS if workers is None else workers)

    def __len__(self) -> int:
        return len(self.inputs)

    def batches(self, requests: Iterable[Request]) -> Iterator[Tensor]:
        """uint8 [B, channels, height, width] for each request, in order.

        At most workers × AHEAD requests are taken before their turn. Closing the iterator ends the workers.
        """
        here, there = multiprocessing.Pipe(duplex=False)
        loader: DataLoader[Tensor | str] = DataLoader(
            _Decoded(),
            batch_size=None,  # each task is a batch already
            sampler=(self._task(request) for request in requests),
            num_workers=self.workers,
            prefetch_factor=AHEAD if self.workers else None,
            multiprocessing_context=start_method(__name__) if self.workers else None,
            worker_init_fn=partial(begin, here) if self.workers else None,
            generator=torch.Generator(),  # otherwise a number of the global generator would be used up
        )
        with main_module_hidden():
            decoded = iter(loader)
        try:
            for batch in decoded:
                if isinstance(batch, str):
                    raise InputError(batch)
                yield batch
        except (RuntimeError, EOFError, ConnectionError) as error:  # the last two while its batch is fetched
            if isinstance(error, RuntimeError) and "DataLoader worker" not in str(error):
                raise
            reason = (str(error) or "it was killed").splitlines()[0].rstrip(".")
            raise InputError(f"a process that decodes pictures ended early ({reason}): {REMEDY}") from None
        finally:
            del decoded  # an exception's traceback would keep it, and with it the workers, alive
            here.close()
            there.close()

    def _task(self, request: Request) -> Task:
        return self.inputs.take([row for row, _ in request]), tuple(view for _, view in request)


class _Decoded(Dataset[Tensor | str]):
    """What becomes of a task: its pictures, or the sentence that says why not.

    A sentence is returned, not raised: a DataLoader would wrap the exception in a worker's traceback.
    """

    def __getitem__(self, task: Task) -> Tensor | str:
        pictures, views = task
        try:
            decoded = np.stack([pictures.read(row, view) for row, view in enumerate(views)])
        except InputError as error:
            return str(error)
        batch: Tensor = torch.from_numpy(decoded)
        if get_worker_info() is None:
            return batch
        try:
            # Here, since the queue of results loses a batch that it fails to share, and all would wait.
            batch.share_memory_()  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            return f"shared memory for a batch of pictures is lacking ({error}): {REMEDY}"
        return batch

"""Pictures decoded by worker processes, a few batches ahead of the training."""

import multiprocessing
import os
import sys
import threading
import types
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, get_worker_info

from noiselimit.data.arrays import LazyInputs, Rows, View
from noiselimit.errors import InputError
from noiselimit.machine import available_cores

MOST_WORKERS = 8
AHEAD = 2
"""Batches that each worker prepares ahead."""

REMEDY = "free memory (also of /dev/shm), or use smaller batches."

Request = Sequence[tuple[int, View]]
"""One batch: the number and the view of each picture."""


class PictureStream:
    """Batches of pictures that do not fit into memory together."""

    def __init__(self, inputs: LazyInputs, workers: int | None = None) -> None:
        """`workers`: number of processes, at most one per core; 0 decodes in this process."""
        self.inputs = inputs
        # A daemon process must not have children. DataLoader warns of more workers than cores.
        cores = 0 if multiprocessing.current_process().daemon else available_cores()
        self.workers = min(cores, MOST_WORKERS if workers is None else workers)

    def batches(self, requests: Iterable[Request]) -> Iterator[Tensor]:
        """Yield uint8 [B, channels, height, width] for each request, in order.

        At most workers × AHEAD requests are taken ahead. Closing the iterator ends the workers. Vectors are
        read in this process.
        """
        if isinstance(self.inputs, Rows):
            yield from (torch.from_numpy(self.inputs[[row for row, _ in request]]) for request in requests)
            return
        # A worker gets only the pictures of its batch, and their views.
        parts = (tuple(zip(*request, strict=True)) for request in requests)
        tasks = ((self.inputs.take(rows), views) for rows, views in parts)
        here, there = multiprocessing.Pipe(duplex=False)
        loader: DataLoader[Tensor | str] = DataLoader(
            _Decoder(),
            batch_size=None,  # each task is a batch
            sampler=tasks,
            num_workers=self.workers,
            prefetch_factor=AHEAD if self.workers else None,
            multiprocessing_context=_start_method() if self.workers else None,
            worker_init_fn=partial(_init_worker, here) if self.workers else None,
            generator=torch.Generator(),  # else the global generator would advance
        )
        with main_module_hidden():
            decoded = iter(loader)
        try:
            for batch in decoded:
                if isinstance(batch, str):
                    raise InputError(batch)
                yield batch
        except (RuntimeError, EOFError, ConnectionError) as error:
            if isinstance(error, RuntimeError) and "DataLoader worker" not in str(error):
                raise
            reason = (str(error) or "it was killed").splitlines()[0].rstrip(".")
            raise InputError(f"a process that decodes images ended early ({reason}): {REMEDY}") from None
        finally:
            del decoded  # a traceback would keep it, and the workers, alive
            here.close()
            there.close()


class _Decoder(Dataset[Tensor | str]):
    """Pictures, or an error message. DataLoader would wrap an exception in a worker's traceback."""

    def __getitem__(self, task: tuple[LazyInputs, Sequence[View]]) -> Tensor | str:
        pictures, views = task
        try:
            decoded = np.stack([pictures.read(row, view) for row, view in enumerate(views)])
        except InputError as error:
            return str(error)
        batch: Tensor = torch.from_numpy(decoded)
        if get_worker_info() is None:
            return batch
        try:
            # The result queue would do this too, but it loses the batch if it fails, and all would wait.
            batch.share_memory_()  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            return f"no shared memory for a batch of images ({error}): {REMEDY}"
        return batch


def _init_worker(parent: Connection, worker: int) -> None:
    """End this worker when the training process dies, and silence Pillow's warnings.

    Torch watches the worker's own parent only, which is the fork server.
    """
    warnings.simplefilter("ignore")

    def wait() -> None:
        parent.poll(None)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


_globals_lock = threading.RLock()


def _start_method() -> str:
    """The fork server: a fork of this process could copy a lock that another thread holds."""
    if "forkserver" not in multiprocessing.get_all_start_methods():  # Windows
        return "spawn"
    with _globals_lock:  # start the tracker so that it does not warn after a kill
        options = sys.warnoptions[:]
        sys.warnoptions.append(f"ignore::UserWarning:{resource_tracker.__name__}")
        try:
            resource_tracker.ensure_running()
        finally:
            sys.warnoptions[:] = options
    multiprocessing.set_forkserver_preload([__name__])  # import torch once for all workers
    return "forkserver"


@contextmanager
def main_module_hidden() -> Iterator[None]:
    """Workers started inside do not run the user's script again, so it needs no `__main__` guard."""
    with _globals_lock:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main

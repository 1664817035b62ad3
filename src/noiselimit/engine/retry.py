"""Training with the fastest backend that works, and as many rows at once as fit into memory.

On a GPU, the memory that one and two rows need is measured first. If memory runs out anyway, the rows are
split in half and tried again. If the Triton kernels fail, torch's kernels are used.
"""

import gc
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial

import torch

from noiselimit.engine.backend import Backend, first_line
from noiselimit.engine.block import Block
from noiselimit.engine.results import Stopped
from noiselimit.errors import InputError, Notice
from noiselimit.machine import available_cores, lacks_memory

Train = Callable[[Sequence[int], Backend, threading.Event], None]
"""Trains the unfinished ones of these rows; sets the event after the first epoch."""

MakeBlock = Callable[[Sequence[int], Backend], Block]

MEMORY_SHARE = 0.9  # of the free memory; libraries and fragmentation need the rest

_one_at_a_time = threading.Lock()
"""No kernel may be launched while others are compiled, and cuDNN's settings are global."""


def with_fallback(rows: Sequence[int], backend: Backend, train: Train) -> None:
    """Call `train`; if it fails, try again with fewer rows at once or with torch's kernels.

    Kernels can only be the cause before the first epoch is done. Memory can run out at any time.
    """
    begun = threading.Event()
    try:
        train(rows, backend, begun)
        return
    except (InputError, Stopped):
        raise
    except Exception as error:  # also OSError: the cache of a compiler may be read-only
        if lacks_memory(error):
            attempts = [(rows[::2], backend), (rows[1::2], backend)]
            notice = _split_notice(len(rows), error, begun=begun.is_set())
        elif begun.is_set() or not backend.kernels:
            raise
        else:
            attempts = [(rows, replace(backend, kernels=False))]
            notice = (
                f"the Triton kernels failed ({type(error).__name__}: {first_line(error)}), so torch's are "
                "used: slower, same results; --kernels off hides this message."
            )
    warnings.warn(notice, Notice, stacklevel=2)
    for fewer, plainer in attempts:
        release_memory()  # outside of `except`, whose traceback holds the failed block
        with_fallback(fewer, plainer, train)


def _split_notice(rows: int, error: Exception, *, begun: bool) -> str:
    on_device = isinstance(error, torch.OutOfMemoryError)
    memory = "the device's memory" if on_device else "the machine's memory"
    if rows == 1:
        remedy = "device cpu" if on_device else "fewer threads"
        raise InputError(f"a run does not fit into {memory}: lower batch_size, or use {remedy}.") from None
    if begun:
        return (
            f"{memory} ran out while {rows} runs trained: they resume as two cohorts, from their last "
            "checkpoints if there are any."
        )
    return f"{rows} runs did not fit into {memory} at once: they train as two cohorts."


def release_memory() -> None:
    """Free the memory of old blocks. They contain reference cycles, so the garbage collector must run."""
    gc.collect()
    torch.cuda.empty_cache()


def train_on_gpu(
    rows: Sequence[int],
    backend: Backend,
    device: torch.device,
    make_block: MakeBlock,
    train: Train,
    *,
    can_rehearse: bool,
) -> None:
    """Train the rows in as few pieces as fit into memory; the rows that need most memory come first.

    Streamed data cannot be rehearsed with, because that would decode pictures.
    """
    torch.cuda.synchronize(device)  # the inputs were sent on another stream
    autotuned = torch.backends.cudnn.flags(enabled=True, benchmark=True)
    with _one_at_a_time, torch.cuda.device(device), torch.cuda.stream(_stream(device)), autotuned:
        if backend.kernels and can_rehearse:
            with suppress(Exception):  # training reports what does not compile
                make_block(rows[:1], backend).compile_kernels(available_cores())
        most = len(rows)
        if can_rehearse:
            try:
                most = rows_that_fit(lambda count: make_block(rows[:count], backend), len(rows), device)
            except InputError:
                raise
            except Exception:  # training reports it
                most = len(rows)
        for piece in split_rows(rows, most):
            with_fallback(piece, backend, train)
            release_memory()


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """One stream for all trainings: graphs cannot be recorded on the default one."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def rows_that_fit(make_block: Callable[[int], Block], rows: int, device: torch.device) -> int:
    """How many of `rows` rows can train at once, at least 1. `make_block(k)` makes a block of k rows."""
    if rows == 1:
        return 1
    try:
        _bytes_needed(make_block, 1, device)  # warm-up: libraries take memory at their first use
        release_memory()
        free = torch.cuda.mem_get_info(device)[0] * MEMORY_SHARE
        one, two = (_bytes_needed(make_block, count, device) for count in (1, 2))
    except torch.OutOfMemoryError:
        return 1
    finally:
        release_memory()
    return fitting(one, two, rows, free)


def fitting(one: float, two: float, rows: int, free: float) -> int:
    """How many of `rows` fit into `free` bytes if one row needs `one` bytes and two need `two`."""
    each = max(two - one, 1.0)
    return max(1, min(rows, int((free - (one - each)) / each)))


def _bytes_needed(make_block: Callable[[int], Block], count: int, device: torch.device) -> float:
    """What a block of `count` rows needs.

    A recorded step keeps its memory, so a smaller last step or an evaluation needs memory beside it.
    """
    release_memory()
    before = torch.cuda.memory_allocated(device)
    block = make_block(count)
    block_bytes = torch.cuda.memory_allocated(device)

    def peak_of(work: Callable[[], None]) -> float:
        torch.cuda.reset_peak_memory_stats(device)
        work()
        return torch.cuda.max_memory_allocated(device) - block_bytes

    beside = max(peak_of(partial(block.rehearse_step, last=True)), peak_of(block.rehearse_evaluation))
    return block_bytes - before + peak_of(block.rehearse_step) + beside


def split_rows(rows: Sequence[int], most: int) -> list[list[int]]:
    """Split the rows into as few pieces of at most `most` as possible, of about equal size."""
    count = -(-len(rows) // most)
    pieces = [list(rows[first::count]) for first in range(count)]
    if count > 1:
        warnings.warn(
            f"{len(rows)} runs do not fit into the device's memory at once, so they train in {count} cohorts "
            f"of up to {len(pieces[0])}.",
            Notice,
            stacklevel=2,
        )
    return pieces

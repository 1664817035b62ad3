"""A cohort on a GPU: kernels compiled ahead, as many rows at once as fit, by the fastest way that works."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from threading import Lock

import torch

from noiselimit.engine.backend import Backend, Train, release_memory, with_fallback
from noiselimit.engine.block import Block
from noiselimit.errors import InputError, Notice
from noiselimit.machine import available_cores

SHARE_USED = 0.9
"""Of the free memory: what libraries take for themselves and what lies between tensors needs some too."""


def rows_that_fit(make_block: Callable[[int], Block], rows: int, device: torch.device) -> int:
    """How many of `rows` rows can train at once, at least 1. `make_block` makes one of the first k rows."""
    if rows == 1:
        return 1
    try:
        bytes_needed(make_block, 1, device)  # once before: libraries take memory at their first use
        release_memory()
        free = torch.cuda.mem_get_info(device)[0] * SHARE_USED
        one, two = (bytes_needed(make_block, count, device) for count in (1, 2))
    except torch.OutOfMemoryError:
        return 1  # which is tried in earnest
    finally:
        release_memory()
    return fitting(one, two, rows, free)


def fitting(one: float, two: float, rows: int, free: float) -> int:
    """How many of `rows` fit into `free` bytes, where one row needs `one` bytes and two need `two`."""
    each = max(two - one, 1.0)
    return max(1, min(rows, int((free - (one - each)) / each)))


def bytes_needed(make_block: Callable[[int], Block], count: int, device: torch.device) -> float:
    """What a block of `count` takes: to stay, for a step, and for what is done beside it.

    A recorded step keeps its memory while a last, smaller one or an evaluation needs some too.
    """
    release_memory()  # of the block before
    before = torch.cuda.memory_allocated(device)
    block = make_block(count)
    settled = torch.cuda.memory_allocated(device)

    def peak_of(work: Callable[[], None]) -> float:
        torch.cuda.reset_peak_memory_stats(device)
        work()
        return torch.cuda.max_memory_allocated(device) - settled

    beside = max(peak_of(partial(block.rehearse_step, last=True)), peak_of(block.rehearse_evaluation))
    return settled - before + peak_of(block.rehearse_step) + beside


MakeBlock = Callable[[Sequence[int], Backend], Block]
"""(rows, backend) → a block of these rows, ready to train."""


def train_on_gpu(
    rows: Sequence[int],
    backend: Backend,
    device: torch.device,
    make_block: MakeBlock,
    train: Train,
    *,
    can_rehearse: bool,
) -> None:
    """Train the rows, those that need most memory first among them; `train` does it for some of them.

    Data that are streamed cannot be rehearsed with: that would mean to decode them.
    """
    torch.cuda.synchronize(device)  # the inputs were sent on another stream
    quickest = torch.backends.cudnn.flags(enabled=True, benchmark=True)  # tries algorithms at first use
    with _ONE_AT_A_TIME, torch.cuda.device(device), torch.cuda.stream(_stream(device)), quickest:
        if backend.kernels and can_rehearse:
            _compile_ahead(rows, backend, make_block)
        most = _rows_at_once(rows, backend, make_block, device) if can_rehearse else len(rows)
        for piece in pieces_of(rows, most):
            with_fallback(piece, backend, train)
            release_memory()  # what the next one may need


_ONE_AT_A_TIME = Lock()
"""While kernels are compiled ahead nobody may launch them, and cuDNN's settings are those of the process."""


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """One for all trainings: none can be recorded on the default one, and libraries keep memory for each."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def _compile_ahead(rows: Sequence[int], backend: Backend, make_block: MakeBlock) -> None:
    """Have all kernels compiled at once that a first step would compile one after the other."""
    with suppress(Exception):  # what does not compile is reported where it is tried in earnest
        make_block(rows[:1], backend).compile_kernels(available_cores())


def _rows_at_once(rows: Sequence[int], backend: Backend, make_block: MakeBlock, device: torch.device) -> int:
    try:
        return rows_that_fit(lambda count: make_block(rows[:count], backend), len(rows), device)
    except InputError:
        raise
    except Exception:  # what fails here is reported where it is tried in earnest
        return len(rows)


def pieces_of(rows: Sequence[int], most: int) -> list[list[int]]:
    """The rows in as few pieces of at most `most` as can be, about equal; says so if it is more than one."""
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

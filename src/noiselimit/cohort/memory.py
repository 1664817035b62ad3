"""How many rows fit into a GPU's memory: measured on blocks of one and of two rows."""

from collections.abc import Callable
from functools import partial

import torch

from noiselimit.cohort.block import Block
from noiselimit.cohort.device import release_memory

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

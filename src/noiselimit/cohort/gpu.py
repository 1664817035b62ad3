"""A cohort on a GPU: kernels compiled ahead, as many rows at once as fit, by the fastest way that works."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from threading import Lock

import torch

from noiselimit.cohort.attempts import Train, persevere
from noiselimit.cohort.block import Block
from noiselimit.cohort.device import release_memory
from noiselimit.cohort.memory import rows_that_fit
from noiselimit.cohort.pace import Pace
from noiselimit.errors import InputError, Notice
from noiselimit.machine import available_cores

MakeBlock = Callable[[Sequence[int], Pace], Block]
"""(rows, pace) → a block of these rows, ready to train."""


def train_on_gpu(
    rows: Sequence[int],
    pace: Pace,
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
        if pace.kernels and can_rehearse:
            _compile_ahead(rows, pace, make_block)
        most = _rows_at_once(rows, pace, make_block, device) if can_rehearse else len(rows)
        for piece in pieces_of(rows, most):
            persevere(piece, pace, train)
            release_memory()  # what the next one may need


_ONE_AT_A_TIME = Lock()
"""While kernels are compiled ahead nobody may launch them, and cuDNN's settings are those of the process."""


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """One for all trainings: none can be recorded on the default one, and libraries keep memory for each."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def _compile_ahead(rows: Sequence[int], pace: Pace, make_block: MakeBlock) -> None:
    """Have all kernels compiled at once that a first step would compile one after the other."""
    with suppress(Exception):  # what does not compile is reported where it is tried in earnest
        make_block(rows[:1], pace).compile_kernels(available_cores())


def _rows_at_once(rows: Sequence[int], pace: Pace, make_block: MakeBlock, device: torch.device) -> int:
    try:
        return rows_that_fit(lambda count: make_block(rows[:count], pace), len(rows), device)
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

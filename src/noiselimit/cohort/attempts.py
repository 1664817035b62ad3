"""What to do when a cohort fails: less at once where memory is lacking, or, at first, in a plainer way."""

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from noiselimit.cohort.device import release_memory
from noiselimit.cohort.outcome import Stopped
from noiselimit.cohort.pace import Pace
from noiselimit.errors import InputError, Notice
from noiselimit.machine import lacks_memory

Train = Callable[[Sequence[int], Pace, threading.Event], None]
"""Trains what is left of these rows at this pace; sets the event as soon as an epoch or a run is done."""


def persevere(rows: Sequence[int], pace: Pace, train: Train) -> None:
    """Train the rows by the fastest way that works; a `Notice` tells of every other.

    Kernels are blamed only before the first epoch is done: what happens later is no matter of compilers.
    Memory may run out later too, for others use it as well.
    """
    begun = threading.Event()
    try:
        train(rows, pace, begun)
        return
    except (InputError, Stopped):
        raise
    except Exception as error:  # an OSError too: compilers write files, and a home may be read-only
        if lacks_memory(error):
            again = [(rows[::2], pace), (rows[1::2], pace)]
            notice = _less_at_once(len(rows), error, begun=begun.is_set())
        elif begun.is_set() or not pace.kernels:
            raise
        else:
            again = [(rows, replace(pace, kernels=False))]
            notice = (
                f"our own kernels failed here ({type(error).__name__}: {first_line(error)}), so torch's are "
                "used: slower, same results; --kernels off hides this line."
            )
    warnings.warn(notice, Notice, stacklevel=2)
    for fewer, way in again:
        release_memory()  # the error is gone by now; so can be the block that its traceback held
        persevere(fewer, way, train)


def _less_at_once(rows: int, error: Exception, *, begun: bool) -> str:
    """What is said when so many rows are halved; refused where there is but one."""
    on_device = isinstance(error, torch.OutOfMemoryError)
    memory = "the device's memory" if on_device else "the machine's memory"
    if rows == 1:
        remedy = "device cpu" if on_device else "fewer threads"
        raise InputError(
            f"a run does not fit into {memory}: give a smaller batch_size, or {remedy}."
        ) from None
    if begun:
        return (
            f"{memory} ran out while {rows} runs trained: they go on as two cohorts, "
            "from their last checkpoints where there are any."
        )
    return f"{rows} runs did not fit into {memory} at once: they train as two cohorts."


def first_line(error: Exception) -> str:
    """The first line of what a library says, which may be pages."""
    return (str(error).strip().splitlines() or ["no reason given"])[0]

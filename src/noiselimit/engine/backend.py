"""What to do when a cohort fails: less at once where memory is lacking, or, at first, in a plainer way."""

import gc
import re
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec

import torch

from noiselimit.engine.results import Stopped
from noiselimit.errors import InputError, Notice, unknown
from noiselimit.machine import lacks_memory


def find_device(name: str) -> torch.device:
    """'auto', 'cpu' or 'cuda' (or 'cuda:1') → the device, or a sentence when it is not there."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise unknown("device", name, ("auto", "cpu", "cuda"))
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise InputError("device 'cuda' was asked for, but torch sees no GPU here: use --device cpu.")
    device = torch.device(name)
    count = torch.cuda.device_count()
    if device.index is not None and device.index >= count:
        raise InputError(f"device '{name}' was asked for, but there are {count} GPUs: count them from 0.")
    return device


def release_memory() -> None:
    """Give back what blocks that are done with held: they and their steps know each other, and wait for the
    garbage collector."""
    gc.collect()
    torch.cuda.empty_cache()


CHOICES = ("auto", "on", "off")


@dataclass(frozen=True)
class Backend:
    """What is used besides torch's own kernels, one launched after the other."""

    kernels: bool = False
    """Our own kernels, which serve several layers and all rows with one launch."""
    graphs: bool = False
    """A step's launches are recorded once and replayed without Python between them."""


def find_backend(kernels: str, graphs: str, device: torch.device) -> Backend:
    """'auto', 'on' or 'off' for each → what there is on this device, or a sentence when it is not there."""
    for name, value in (("kernels", kernels), ("graphs", graphs)):
        if value not in CHOICES:
            raise unknown(name, value, CHOICES)
        if value == "on" and device.type != "cuda":
            raise InputError(f"{name} 'on' was asked for, but the device is {device.type}: leave it at auto.")
    triton = find_spec("triton") is not None
    if kernels == "on" and not triton:
        raise InputError("kernels 'on' was asked for, but triton is not installed: pip install triton.")
    on_gpu = device.type == "cuda"
    return Backend(kernels=on_gpu and triton and kernels != "off", graphs=on_gpu and graphs != "off")


PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def fast_precision(device: torch.device) -> str:
    """bfloat16 where the device has it in hardware."""
    fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return "bfloat16" if fast else "float32"


Train = Callable[[Sequence[int], Backend, threading.Event], None]
"""Trains what is left of these rows at this backend; sets the event as soon as an epoch or a run is done."""


def with_fallback(rows: Sequence[int], backend: Backend, train: Train) -> None:
    """Train the rows by the fastest way that works; a `Notice` tells of every other.

    Kernels are blamed only before the first epoch is done: what happens later is no matter of compilers.
    Memory may run out later too, for others use it as well.
    """
    begun = threading.Event()
    try:
        train(rows, backend, begun)
        return
    except (InputError, Stopped):
        raise
    except Exception as error:  # an OSError too: compilers write files, and a home may be read-only
        if lacks_memory(error):
            again = [(rows[::2], backend), (rows[1::2], backend)]
            notice = _less_at_once(len(rows), error, begun=begun.is_set())
        elif begun.is_set() or not backend.kernels:
            raise
        else:
            again = [(rows, replace(backend, kernels=False))]
            notice = (
                f"our own kernels failed here ({type(error).__name__}: {first_line(error)}), so torch's are "
                "used: slower, same results; --kernels off hides this line."
            )
    warnings.warn(notice, Notice, stacklevel=2)
    for fewer, way in again:
        release_memory()  # the error is gone by now; so can be the block that its traceback held
        with_fallback(fewer, way, train)


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

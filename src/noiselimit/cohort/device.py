"""Which device there is, and how its memory is given back."""

import gc
import re

import torch

from noiselimit.errors import InputError, unknown


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

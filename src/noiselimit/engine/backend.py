"""Choosing the device, the precision and the kernels that training uses."""

import re
from dataclasses import dataclass
from importlib.util import find_spec

import torch

from noiselimit.errors import InputError, unknown

CHOICES = ("auto", "on", "off")
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Backend:
    """What training uses besides torch's own kernels."""

    kernels: bool = False  # triton kernels that serve several layers and all rows with one launch
    graphs: bool = False  # CUDA graphs: the launches of a step are recorded once and replayed


def find_device(name: str) -> torch.device:
    """Return the device for 'auto', 'cpu', 'cuda' or 'cuda:1'; raise `InputError` if it is not available."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise unknown("device", name, ("auto", "cpu", "cuda"))
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise InputError("device is 'cuda', but torch finds no GPU: use --device cpu.")
    device = torch.device(name)
    count = torch.cuda.device_count()
    if device.index is not None and device.index >= count:
        raise InputError(f"device is '{name}', but there are {count} GPUs: count them from 0.")
    return device


def find_backend(kernels: str, graphs: str, device: torch.device) -> Backend:
    """Return the backend for two settings, each 'auto', 'on' or 'off'; raise if 'on' is not possible."""
    on_gpu = device.type == "cuda"
    for name, value in (("kernels", kernels), ("graphs", graphs)):
        if value not in CHOICES:
            raise unknown(name, value, CHOICES)
        if value == "on" and not on_gpu:
            raise InputError(f"{name} is 'on', but the device is {device.type}: use auto.")
    triton = find_spec("triton") is not None
    if kernels == "on" and not triton:
        raise InputError("kernels is 'on', but triton is not installed: pip install triton.")
    return Backend(kernels=on_gpu and triton and kernels != "off", graphs=on_gpu and graphs != "off")


def fast_precision(device: torch.device) -> str:
    """Return 'bfloat16' if the device supports it in hardware, else 'float32'."""
    fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return "bfloat16" if fast else "float32"


def first_line(error: Exception) -> str:
    """The first line of an error message; a compiler's may fill pages."""
    return (str(error).strip().splitlines() or ["no reason given"])[0]

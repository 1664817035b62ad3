"""Which fast ways a training takes on a GPU. They change how long it takes, not what is computed."""

from dataclasses import dataclass
from importlib.util import find_spec

import torch

from noiselimit.errors import InputError, unknown

CHOICES = ("auto", "on", "off")


@dataclass(frozen=True)
class Pace:
    """What is used besides torch's own kernels, one launched after the other."""

    kernels: bool = False
    """Our own kernels, which serve several layers and all rows with one launch."""
    graphs: bool = False
    """A step's launches are recorded once and replayed without Python between them."""


def find_pace(kernels: str, graphs: str, device: torch.device) -> Pace:
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
    return Pace(kernels=on_gpu and triton and kernels != "off", graphs=on_gpu and graphs != "off")


PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def fast_precision(device: torch.device) -> str:
    """bfloat16 where the device has it in hardware."""
    fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return "bfloat16" if fast else "float32"

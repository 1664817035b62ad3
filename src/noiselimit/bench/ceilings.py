"""What the device can do at most, measured: copying memory, and multiplying large matrices."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import torch

from noiselimit.draws import gaussian, random_words, stream_keys
from noiselimit.randomness import Stream

REPEATS, WARM_UP = 12, 3
CALLS = {"cuda": 10, "cpu": 1}  # in one repetition: waiting for a GPU takes a while itself
COPY_BYTES = {"cuda": 2**30, "cpu": 2**28}  # many times the last cache (50 MB and some tens of MB)
PRODUCT_SIDE = {"cuda": 8192, "cpu": 1536}
QUICK_COPY_BYTES, QUICK_PRODUCT_SIDE = 2**22, 256  # on a CPU; a GPU is quick anyway
PRECISION = {"cuda": "bfloat16", "cpu": "float32"}
"""Of the activations: what the engine computes in on such a device."""


@dataclass(frozen=True)
class Ceilings:
    """Medians, with the seconds they come from."""

    gb_per_s: float
    """Bytes read and bytes written, together."""
    tflop_per_s: float
    precision: str
    copy_bytes: int
    product_side: int
    copy_seconds: tuple[float, ...]
    product_seconds: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def measure_ceilings(device: torch.device, threads: int, *, quick: bool = False) -> Ceilings:
    """Both ceilings, on a CPU with `threads` threads; the caller's number of threads is given back."""
    small = quick and device.type == "cpu"
    size = QUICK_COPY_BYTES if small else COPY_BYTES[device.type]
    side = QUICK_PRODUCT_SIDE if small else PRODUCT_SIDE[device.type]
    precision = PRECISION[device.type]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        # Random values: zeros would let a GPU run cooler, and so faster, than work does.
        keys = stream_keys([0, 1], Stream.SAMPLING, device)
        first = torch.zeros((), dtype=torch.int64, device=device)
        copy = _copy_seconds(random_words(keys[:1], first, size // 8), device)
        matrices = gaussian(keys, first, (side, side)).to(getattr(torch, precision))
        product = _product_seconds(matrices[0], matrices[1], device)
    finally:
        torch.set_num_threads(before)
    return Ceilings(
        gb_per_s=2 * size / median(copy) / 1e9,
        tflop_per_s=2 * side**3 / median(product) / 1e12,
        precision=precision,
        copy_bytes=size,
        product_side=side,
        copy_seconds=copy,
        product_seconds=product,
    )


def _copy_seconds(source: torch.Tensor, device: torch.device) -> tuple[float, ...]:
    target = torch.empty_like(source)
    return _seconds(lambda: target.copy_(source), device)


def _product_seconds(left: torch.Tensor, right: torch.Tensor, device: torch.device) -> tuple[float, ...]:
    result = torch.empty_like(left)
    return _seconds(lambda: torch.mm(left, right, out=result), device)


def _seconds(work: Callable[[], object], device: torch.device) -> tuple[float, ...]:
    """Seconds of every repetition after warming up."""
    found = []
    calls = CALLS[device.type]
    for _ in range(WARM_UP + REPEATS):
        _wait(device)
        started = time.perf_counter()
        for _ in range(calls):
            work()
        _wait(device)
        found.append((time.perf_counter() - started) / calls)
    return tuple(found[WARM_UP:])


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)

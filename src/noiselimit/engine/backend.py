"""The device, threads, precision and kernels that training uses, and steps recorded as CUDA graphs."""

import re
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import torch

from noiselimit.engine.distributed import ALONE, Processes
from noiselimit.errors import InputError, Notice, first_line, unknown
from noiselimit.machine import MOST_THREADS, available_cores

CPU = torch.device("cpu")
CHOICES = ("auto", "on", "off")
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
EAGER_STEPS = 2
"""Steps before the first recording. Libraries initialise in them, and cuDNN chooses its algorithms."""


@dataclass(frozen=True)
class Backend:
    """Where and how a cohort trains."""

    device: torch.device = CPU
    threads: int = 1
    threads_per_block: int = 1
    """On a CPU there are `threads // threads_per_block` blocks."""
    kernels: bool = False  # triton kernels that serve several layers and all rows with one launch
    graphs: bool = False  # CUDA graphs: the launches of a step are recorded once and replayed
    processes: Processes = ALONE


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


def find_backend(kernels: str, graphs: str, device: torch.device, *, several: bool = False) -> Backend:
    """Return the backend for two settings, each 'auto', 'on' or 'off'; raise if 'on' is not possible.

    `several`: more than one process trains, which works without kernels and graphs only.
    """
    on_gpu = device.type == "cuda"
    for name, value in (("kernels", kernels), ("graphs", graphs)):
        if value not in CHOICES:
            raise unknown(name, value, CHOICES)
        if value == "on" and not on_gpu:
            raise InputError(f"{name} is 'on', but the device is {device.type}: use auto.")
        if value == "on" and several:
            raise InputError(f"{name} is 'on', but several processes train: use auto.")
    triton = find_spec("triton") is not None
    if kernels == "on" and not triton:
        raise InputError("kernels is 'on', but triton is not installed: pip install triton.")
    usable = on_gpu and not several
    return Backend(device, kernels=usable and triton and kernels != "off", graphs=usable and graphs != "off")


def check_threads(threads: int | None, per_block: int) -> int:
    """The number of CPU threads to use; raises InputError if it is not possible."""
    cores = available_cores() if threads is None else threads
    for name, value, most in (("threads", cores, MOST_THREADS), ("threads_per_block", per_block, cores)):
        if not isinstance(value, int) or not 1 <= value <= most:
            raise InputError(f"{name} is {value}: give a whole number from 1 to {most}.")
    return cores


def fast_precision(device: torch.device) -> str:
    """Return 'bfloat16' if the device supports it in hardware, else 'float32'."""
    fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return "bfloat16" if fast else "float32"


class GraphedStep:
    """Calls `step(size)`; from the third step on by replaying a CUDA graph, if `record` is set and it works.

    A graph holds addresses, so the step must read and write tensors that stay.
    """

    def __init__(self, step: Callable[[int], None], *, record: bool, must_fit: bool = True) -> None:
        """`must_fit`: raise if the first recording runs out of memory, instead of going on without."""
        self._step = step
        self._record = record
        self._must_fit = must_fit
        self._taken = 0
        self._seen: Counter[int] = Counter()
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.seconds = 0.0  # spent on recording

    def __call__(self, size: int) -> None:
        """Take one step with `size` examples."""
        if size not in self._graphs and self._record and self._taken >= EAGER_STEPS and self._seen[size]:
            self._record_graph(size)
        if size in self._graphs:
            self._graphs[size].replay()
        else:
            self._step(size)
        self._taken += 1
        self._seen[size] += 1

    def reset(self) -> None:
        """Delete the graphs, which frees their memory."""
        self._graphs.clear()

    def _record_graph(self, size: int) -> None:
        started = time.perf_counter()
        try:
            graph = torch.cuda.CUDAGraph()
            pool = next(iter(self._graphs.values())).pool() if self._graphs else None
            # On the stream of the earlier steps: autograd remembers the stream of a weight's first use.
            stream = torch.cuda.current_stream()
            with torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
                self._step(size)
            self._graphs[size] = graph
        except Exception as error:
            if isinstance(error, torch.OutOfMemoryError) and not self._graphs and self._must_fit:
                raise
            self._record = False
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            warnings.warn(
                f"a training step could not be recorded ({first_line(error)}), so its kernels are launched "
                "one by one: slower, same results; --graphs off hides this message.",
                Notice,
                stacklevel=2,
            )
        self.seconds += time.perf_counter() - started

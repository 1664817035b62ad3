"""What the hardware allows, and what a training asks of it.

`measure_ceilings` times a copy and a matrix product on the device. `epoch_cost` counts the operations and
bytes of one run and epoch from the layers of its networks.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from noiselimit.networks import Architecture

REPEATS, WARM_UP = 12, 3
CALLS = {"cuda": 10, "cpu": 1}  # per repetition: synchronising with a GPU takes a while itself
COPY_BYTES = {"cuda": 2**30, "cpu": 2**28}  # many times the last-level cache
MATRIX_SIDE = {"cuda": 8192, "cpu": 1536}
QUICK_COPY_BYTES, QUICK_MATRIX_SIDE = 2**22, 256  # on a CPU; a GPU is quick anyway
PRECISION = {"cuda": "bfloat16", "cpu": "float32"}  # what the engine computes in on such a device
VALUE_BYTES = {"bfloat16": 2, "float32": 4}
OPTIMISER_BYTES = 28  # Adam, per parameter and step: reads weight, gradient, two moments; writes three


def measure_ceilings(device: torch.device, threads: int, *, quick: bool = False) -> dict[str, Any]:
    """Memory bandwidth and matrix-product throughput of the device: medians of 12 repetitions."""
    small = quick and device.type == "cpu"
    size = QUICK_COPY_BYTES if small else COPY_BYTES[device.type]
    side = QUICK_MATRIX_SIDE if small else MATRIX_SIDE[device.type]
    precision = PRECISION[device.type]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        # Random values: with zeros a GPU runs cooler, and so faster, than in training.
        source = torch.randint(2**62, (size // 8,), device=device)
        target = torch.empty_like(source)
        copy = _seconds(lambda: target.copy_(source), device)
        left, right = torch.randn(2, side, side, device=device).to(getattr(torch, precision))
        result = torch.empty_like(left)
        product = _seconds(lambda: torch.mm(left, right, out=result), device)
    finally:
        torch.set_num_threads(before)
    return {
        "gb_per_s": 2 * size / median(copy) / 1e9,  # bytes read and bytes written
        "tflop_per_s": 2 * side**3 / median(product) / 1e12,
        "precision": precision,
        "copy_bytes": size,
        "product_side": side,
        "copy_seconds": copy,
        "product_seconds": product,
    }


def _seconds(work: Callable[[], object], device: torch.device) -> list[float]:
    """Seconds per call of every repetition after warm-up."""
    seconds = []
    for _ in range(WARM_UP + REPEATS):
        synchronise(device)
        started = time.perf_counter()
        for _ in range(CALLS[device.type]):
            work()
        synchronise(device)
        seconds.append((time.perf_counter() - started) / CALLS[device.type])
    return seconds[WARM_UP:]


def synchronise(device: torch.device) -> None:
    """Wait until the device has done its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


@dataclass(frozen=True)
class NetworkCost:
    """Counts for one network and one example."""

    forward_operations: int
    training_operations: int
    """Forward and backward: three times forward, without the gradient of the first layer's input."""
    training_values: int
    """Activation values that cross memory in a training step."""
    evaluation_values: int
    parameters: int


@cache
def network_cost(network: str, input_shape: tuple[int, ...], classes: int) -> NetworkCost:
    """Count multiplications, additions and memory traffic of a network. Nothing is computed, only shapes."""
    with torch.device("meta"):
        module = Architecture(network).build(input_shape, classes).train()
        inputs = torch.empty(2, *input_shape)
    operations: list[int] = []

    def count(layer: nn.Module, _: object, outputs: Tensor) -> None:
        assert isinstance(layer.weight, Tensor)
        operations.append(2 * outputs[0].numel() * layer.weight[0].numel())

    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(count)
    with _Traffic(inputs) as traffic:
        module(inputs)
    return NetworkCost(
        forward_operations=sum(operations),
        training_operations=3 * sum(operations) - operations[0],
        training_values=traffic.training // 2,
        evaluation_values=traffic.evaluation // 2,
        parameters=sum(parameter.numel() for parameter in module.parameters()),
    )


class _Traffic(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts values that cross the device's memory, layer by layer, for a batch of any size.

    A pass reads or writes all values of one activation, or of its gradient. The count is that of an engine
    which fuses element-wise work with the pass before or after it and never unfolds a convolution's input.
    Weights are left out: a batch reads few of them. The optimiser's state is counted per step elsewhere.
    """

    def __init__(self, inputs: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.inputs, self.training, self.evaluation = inputs, 0, 0

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name in ("convolution", "addmm", "mm"):
            self._add_product(args[1] if name == "addmm" else args[0], result)
        elif "batch_norm" in name:
            # Forward: read y for the statistics, read y and write x to normalise. Backward: two sums read y
            # and ∂x, then ∂y is written from both. Evaluation folds it into the layer before.
            self.training += 8 * result[0].numel()
        elif name in ("add", "add_") and result.dim() == 4:
            # A shortcut: the other summand is read; backward, ∂x is written for it and read there.
            self.training += 3 * result.numel()
            self.evaluation += result.numel()
        elif name == "mean":  # over all pixels: read forward, written backward
            self.training += 2 * args[0].numel()
            self.evaluation += args[0].numel()
        return result

    def _add_product(self, inputs: Tensor, outputs: Tensor) -> None:
        """A convolution or linear layer: reads x, writes y. ∂w reads x and ∂y; ∂x reads ∂y and is written."""
        read, written = inputs.numel(), outputs.numel()
        self.evaluation += read + written
        self.training += 2 * read + 2 * written
        if inputs is not self.inputs:  # the first layer's input needs no gradient
            self.training += read + written


def epoch_cost(
    network: NetworkCost,
    networks: int,
    *,
    pixels: int,
    batch_size: int,
    train_examples: int,
    evaluated_examples: int,
    precision: str,
) -> tuple[int, int]:
    """Operations and bytes of one epoch: training of `networks` networks, and the classifier's evaluation."""
    width = VALUE_BYTES[precision]
    steps = -(-train_examples // batch_size)
    gathered = (train_examples + evaluated_examples) * pixels * (1 + width)  # a byte read, a value written
    trained = train_examples * networks * network.training_values * width
    evaluated = evaluated_examples * network.evaluation_values * width
    updated = steps * networks * network.parameters * OPTIMISER_BYTES
    operations = train_examples * networks * network.training_operations
    operations += evaluated_examples * network.forward_operations
    return operations, gathered + trained + evaluated + updated

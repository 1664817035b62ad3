"""What a GPU can do, and what a training asks of it."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from statistics import median
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from noiselimit.networks import Architecture

REPEATS, CALLS, WARM_UP = 12, 10, 3
VALUE_BYTES = {"bfloat16": 2, "float32": 4}
OPTIMISER_BYTES = 28  # Adam, per parameter and step: reads weight, gradient, two moments; writes three


def measure_ceilings(device: torch.device, copy_bytes: int = 2**30, side: int = 8192) -> dict[str, float]:
    """Memory bandwidth of a copy and throughput of a bfloat16 matrix product."""
    # Random values: with zeros a GPU runs cooler, and so faster, than in training.
    source = torch.randint(2**62, (copy_bytes // 8,), device=device)
    target = torch.empty_like(source)
    copy = _seconds(lambda: target.copy_(source), device)
    left, right = torch.randn(2, side, side, device=device).to(torch.bfloat16)
    result = torch.empty_like(left)
    product = _seconds(lambda: torch.mm(left, right, out=result), device)
    # A copy reads and writes every byte.
    return {"gb_per_s": 2 * copy_bytes / copy / 1e9, "tflop_per_s": 2 * side**3 / product / 1e12}


def _seconds(work: Callable[[], object], device: torch.device) -> float:
    """Median seconds per call, of repetitions after warm-up."""
    seconds = []
    for _ in range(WARM_UP + REPEATS):
        _synchronise(device)
        started = time.perf_counter()
        for _ in range(CALLS):
            work()
        _synchronise(device)
        seconds.append((time.perf_counter() - started) / CALLS)
    return median(seconds[WARM_UP:])


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class NetworkCost(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Operations and values that cross the device's memory, for one example, counted layer by layer.

    A pass reads or writes all values of one activation, or of its gradient. The count is that of an engine
    which fuses element-wise work with the pass before or after it and never unfolds a convolution's input.
    Weights are left out: a batch reads few of them. The optimiser's state is counted per step elsewhere.
    """

    def __init__(self, network: str, input_shape: tuple[int, ...], classes: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations = self.training_operations = self.training_values = self.evaluation_values = 0
        with torch.device("meta"):  # computes shapes only
            module = Architecture(network).build(input_shape, classes).train()
            self._inputs = torch.empty(2, *input_shape)  # batch-norm needs two examples
        self.parameters = sum(parameter.numel() for parameter in module.parameters())
        with self:
            module(self._inputs)

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name == "convolution":
            self._add_product(args[0], result, terms=args[1][0].numel())
        elif name in ("addmm", "mm"):
            self._add_product(args[-2], result, terms=len(args[-1]))
        elif "batch_norm" in name:
            # Forward: read y for the statistics, read y and write x to normalise. Backward: two sums read y
            # and ∂x, then ∂y is written from both. Evaluation folds it into the layer before.
            self.training_values += 8 * result[0][0].numel()
        elif name in ("add", "add_") and result.dim() == 4:
            # A shortcut: the other summand is read; backward, ∂x is written for it and read there.
            self.training_values += 3 * result[0].numel()
            self.evaluation_values += result[0].numel()
        elif name == "mean":  # over all pixels: read forward, written backward
            self.training_values += 2 * args[0][0].numel()
            self.evaluation_values += args[0][0].numel()
        return result

    def _add_product(self, inputs: Tensor, outputs: Tensor, terms: int) -> None:
        """A convolution or linear layer: reads x, writes y. ∂w reads x and ∂y; ∂x reads ∂y and is written."""
        values = inputs[0].numel() + outputs[0].numel()
        operations = 2 * outputs[0].numel() * terms
        passes = 2 if inputs is self._inputs else 3  # the first layer's input needs no gradient
        self.operations += operations
        self.training_operations += passes * operations
        self.evaluation_values += values
        self.training_values += passes * values


network_cost = cache(NetworkCost)


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
    operations += evaluated_examples * network.operations
    return operations, gathered + trained + evaluated + updated

"""How many values must cross the device's memory in training: counted layer by layer.

A pass is one reading or writing of all values of an activation (or of its gradient, which has its size).
The count is of an engine that fuses what needs no second look at the whole batch: element-wise work rides
along with the pass before or after it, and an unfolded copy of a convolution's input never exists. Weights
are left out, since a batch reads few of them; the optimiser's state is counted beside this, per step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from noiselimit.networks import Architecture

# A convolution or linear layer, x → y.
PRODUCT_READS_INPUT = 1  # forward: x
PRODUCT_WRITES_OUTPUT = 1  # forward: y
WEIGHT_GRADIENT_READS_INPUT = 1  # ∂w needs x once more
WEIGHT_GRADIENT_READS_GRADIENT = 1  # ∂w needs ∂y
INPUT_GRADIENT_READS_GRADIENT = 1  # ∂x needs ∂y; not in the first layer, whose input learns nothing
INPUT_GRADIENT_WRITES = 1  # ∂x itself; not in the first layer
# Batch-norm, y → x, with the ReLU behind it (whose mask follows from y).
STATISTICS_READ = 1  # mean and variance of y need the whole batch before y can be normalised
NORMALISE_READS = 1  # y again
NORMALISE_WRITES = 1  # x
NORM_SUMS_READ = 2  # backward: the two sums over the batch read y and ∂x
NORM_GRADIENT_READS = 2  # and ∂y, which needs these sums, reads both again
NORM_GRADIENT_WRITES = 1  # ∂y
# A shortcut added to x.
SHORTCUT_READS = 1  # forward: the normalising pass reads the other summand
SHORTCUT_GRADIENT = 2  # backward: ∂x behind the ReLU's mask is written for the shortcut, and read there
# The mean over all pixels.
POOL_READS = 1  # forward
POOL_GRADIENT_WRITES = 1  # backward

OPTIMISER_BYTES = 28
"""Per parameter and step of Adam in float32: weight, gradient and two moments read, all but the gradient
written."""

_NORMS = ("native_batch_norm", "_native_batch_norm_legit", "cudnn_batch_norm", "_batch_norm_with_update")


@dataclass(frozen=True)
class Traffic:
    """Of one network and one example."""

    training_values: int
    """Values that cross memory in a training step, forward and backward."""
    evaluation_values: int
    """In evaluation, where fixed statistics fold batch-norm into the layer before it."""
    parameters: int


class _Passes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the passes of the operations that run under it, on a batch of any size."""

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
            self._product(args[1] if name == "addmm" else args[0], result)
        elif name in _NORMS:
            self.training += result[0].numel() * (
                STATISTICS_READ
                + NORMALISE_READS
                + NORMALISE_WRITES
                + NORM_SUMS_READ
                + NORM_GRADIENT_READS
                + NORM_GRADIENT_WRITES
            )
        elif name in ("add", "add_") and result.dim() == 4:
            self.training += result.numel() * (SHORTCUT_READS + SHORTCUT_GRADIENT)
            self.evaluation += result.numel() * SHORTCUT_READS
        elif name == "mean":
            self.training += args[0].numel() * (POOL_READS + POOL_GRADIENT_WRITES)
            self.evaluation += args[0].numel() * POOL_READS
        return result

    def _product(self, inputs: Tensor, outputs: Tensor) -> None:
        read, written = inputs.numel(), outputs.numel()
        self.evaluation += read * PRODUCT_READS_INPUT + written * PRODUCT_WRITES_OUTPUT
        self.training += read * (PRODUCT_READS_INPUT + WEIGHT_GRADIENT_READS_INPUT)
        self.training += written * (PRODUCT_WRITES_OUTPUT + WEIGHT_GRADIENT_READS_GRADIENT)
        if inputs is not self.inputs:
            self.training += read * INPUT_GRADIENT_WRITES + written * INPUT_GRADIENT_READS_GRADIENT


@cache
def network_traffic(network: str, input_shape: tuple[int, ...], classes: int) -> Traffic:
    """The count for a network by name; nothing is computed, only shapes."""
    with torch.device("meta"):
        module = Architecture(network).build(input_shape, classes).train()
        inputs = torch.empty(2, *input_shape)
    with _Passes(inputs) as passes:
        module(inputs)
    parameters = sum(parameter.numel() for parameter in module.parameters())
    return Traffic(passes.training // 2, passes.evaluation // 2, parameters)

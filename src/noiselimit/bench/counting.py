"""Operations and bytes of one run and epoch, counted from the layers rather than guessed."""

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor, nn

from noiselimit.bench.traffic import OPTIMISER_BYTES, network_traffic
from noiselimit.bench.work import CLASSES, Work
from noiselimit.networks import Architecture

VALUE_BYTES = {"bfloat16": 2, "float32": 4}
INPUT_READ_BYTES = 1  # of a pixel as it lies in the data
INPUT_WRITES = 1  # of a pixel of the batch, standardised; one batch serves both networks


@dataclass(frozen=True)
class Operations:
    """Multiplications and additions of convolutions and linear layers, for one network and example."""

    forward: int
    training: int
    """Forward and backward: three times forward, less what a gradient of the first layer's input would be."""


@dataclass(frozen=True)
class Cost:
    """What one run and epoch asks of the hardware."""

    operations: float
    bytes: float


@cache
def network_operations(network: str, input_shape: tuple[int, ...], classes: int) -> Operations:
    """Counted from the outputs that each layer makes of one example.

    Tensors without content would need no arithmetic, but for them torch imports its compiler, which takes
    longer than all of it.
    """
    module = Architecture(network).build(input_shape, classes).eval()
    each: list[int] = []

    def count(layer: nn.Module, inputs: object, outputs: Tensor) -> None:
        assert isinstance(layer.weight, Tensor)
        each.append(2 * outputs.numel() * layer.weight[0].numel())

    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(count)
    with torch.inference_mode():
        module(torch.zeros(1, *input_shape))
    return Operations(sum(each), 3 * sum(each) - each[0])


def epoch_cost(work: Work, *, train_examples: int, evaluated_examples: int, precision: str) -> Cost:
    """Training of all networks on every training example, and the classifier's evaluation."""
    shape = work.input_shape
    operations = network_operations(work.network, shape, CLASSES)
    traffic = network_traffic(work.network, shape, CLASSES)
    steps = -(-train_examples // work.batch_size)
    pixels = torch.Size(shape).numel()
    width = VALUE_BYTES[precision]
    gathered = (train_examples + evaluated_examples) * pixels * (INPUT_READ_BYTES + INPUT_WRITES * width)
    trained = train_examples * work.networks * traffic.training_values * width
    evaluated = evaluated_examples * traffic.evaluation_values * width
    updated = steps * work.networks * traffic.parameters * OPTIMISER_BYTES
    return Cost(
        operations=train_examples * work.networks * operations.training
        + evaluated_examples * operations.forward,
        bytes=gathered + trained + evaluated + updated,
    )

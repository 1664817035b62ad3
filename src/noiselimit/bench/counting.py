"""Operations and bytes of one run and epoch, counted from the layers rather than guessed."""

from dataclasses import dataclass
from functools import cache

import torch
from torch.utils.flop_counter import FlopCounterMode

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
    """Forward and backward: about three times forward; the first layer's input needs no gradient."""


@dataclass(frozen=True)
class Cost:
    """What one run and epoch asks of the hardware."""

    operations: float
    bytes: float


@cache
def network_operations(network: str, input_shape: tuple[int, ...], classes: int) -> Operations:
    """Counted by torch on tensors without content."""
    with torch.device("meta"):
        module = Architecture(network).build(input_shape, classes).train()
        inputs = torch.empty(2, *input_shape)
        with FlopCounterMode(display=False) as forward:
            logits, _ = module(inputs)
        with FlopCounterMode(display=False) as backward:
            logits.sum().backward()
    ahead, back = forward.get_total_flops(), backward.get_total_flops()
    return Operations(ahead // 2, (ahead + back) // 2)


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

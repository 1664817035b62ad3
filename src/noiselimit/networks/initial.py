"""Initial weights as a function of the seed, so that they need neither a global generator nor its state."""

from enum import IntEnum

import numpy as np
import torch
from torch import Tensor, nn

from noiselimit.networks.dropout import dropout_keys
from noiselimit.randomness import Stream, uniforms


class Role(IntEnum):
    """Which of a run's two networks; each draws its own weights. Values are part of the results."""

    CLASSIFIER = 0
    PREDICTOR = 1


def initial_state(network: nn.Module, seed: int, role: Role) -> dict[str, Tensor]:
    """A state dict drawn as PyTorch would by default: uniform within ±1/√fan-in, batch-norm one and zero."""
    state = own_state(network)
    drawn = 0
    for path, module in network.named_modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            fan_in = module.weight[0].numel()
            for name, _ in module.named_parameters():
                key = f"{path}.{name}"
                state[key] = _within(fan_in**-0.5, state[key].shape, seed, 2 * drawn + role)
                drawn += 1
    return state | dropout_keys(network, seed, role)


def own_state(network: nn.Module) -> dict[str, Tensor]:
    """A copy of the weights and statistics that the network has."""
    return {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}


def _within(bound: float, shape: torch.Size, seed: int, step: int) -> Tensor:
    values = (2 * uniforms(seed, Stream.WEIGHTS, step, shape.numel()) - 1) * bound
    return torch.from_numpy(values.astype(np.float32)).reshape(shape)

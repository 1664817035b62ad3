"""A network on given features that do not learn, as the paper suggests for the predictor (Sec. 3.4)."""

import math

import torch
from torch import Tensor, nn

from noiselimit.errors import InputError
from noiselimit.networks.foreign import built_by
from noiselimit.networks.foreign_checks import called
from noiselimit.networks.foreign_layers import check_state, draws_when_pooling


class _Flattened(nn.Module):
    """[B, ...] → [B, F]. A type of its own, without stacked twin: somebody else's features have none."""

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1)


class FrozenFeatures(nn.Module):
    """[B, ...] → network(features(x)). The features neither learn nor leave evaluation mode."""

    def __init__(self, features: nn.Module, network: nn.Module) -> None:
        super().__init__()
        self.features = features.requires_grad_(False).eval()
        self.flattened = _Flattened()
        self.network = network

    def train(self, mode: bool = True) -> "FrozenFeatures":
        super().train(mode)
        self.features.eval()
        return self

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            seen = self.flattened(self.features(x))
        logits, features = self.network(seen)
        return logits, features


def features_module(path: str, input_shape: tuple[int, ...], seed: int) -> nn.Module:
    """What factory(input_shape) at the dotted path builds under this seed of torch's generator."""
    return built_by("features", path, (input_shape,), seed)


def check_features(path: str, features: nn.Module, input_shape: tuple[int, ...]) -> int:
    """How many features there are of one input, or an error; asked of two blank inputs."""
    check_state("features", path, features)
    if any(draws_when_pooling(layer) for layer in features.modules()):
        raise InputError(
            f"features '{path}' pool at places drawn from torch's generator: use another kind of pooling."
        )
    found = called("features", path, features.eval(), torch.zeros(2, *input_shape))
    if not isinstance(found, Tensor) or found.dim() < 2 or len(found) != 2 or not found.is_floating_point():
        shape = list(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise InputError(
            f"features '{path}' give {shape} for a batch of 2 inputs: return a float tensor [2, features]."
        )
    return math.prod(found.shape[1:])

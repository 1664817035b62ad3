"""Architecture: everything that decides which parameters a network has, and the weights a run starts from."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from noiselimit.dotted import Named, canonical, is_dotted
from noiselimit.errors import InputError, unknown
from noiselimit.networks import cnn, mlp, resnet
from noiselimit.networks.module import build_features, build_network, check_network, seeded_generator
from noiselimit.networks.network import Network, dropout_keys, head_of
from noiselimit.randomness import Stream, step_key, stream_key, uniforms
from noiselimit.registry import Registry

BUILT_IN: Mapping[str, Network] = {
    network.name: network for module in (cnn, mlp, resnet) for network in module.NETWORKS
}
NETWORKS: Registry[Any] = Registry(
    "network",
    "noiselimit.networks",
    "noiselimit.networks.NETWORKS",
    BUILT_IN,
    callable,
    "a module or factory",
)
"""The built-in networks, and modules or factories of others; see `is_own`."""


class Role(IntEnum):
    """Which of a run's two networks; each draws its own weights. The values are part of the results."""

    CLASSIFIER = 0
    PREDICTOR = 1


class FrozenFeatures(nn.Module):
    """[B, ...] → network(features(x)). The features do not learn and stay in evaluation mode."""

    def __init__(self, features: nn.Module, network: nn.Module) -> None:
        super().__init__()
        self.features = features.requires_grad_(False).eval()
        self.network = network

    def train(self, mode: bool = True) -> "FrozenFeatures":
        super().train(mode)
        self.features.eval()
        return self

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            inputs = self.features(x).flatten(1)
        logits, features = self.network(inputs)
        return logits, features


def check_name(name: object) -> None:
    """Raise an InputError unless it is a known network or a dotted path; imports nothing."""
    known = isinstance(name, str) and (is_dotted(name) or isinstance(name, Named) or name in NETWORKS)
    if not known:
        raise unknown("network", name, NETWORKS, ", or your own as 'package.module:factory'")


def network_name(network: object) -> str:
    """The name of a network that a user gives as a name, a module, its class or another factory."""
    if not isinstance(network, str) and not callable(network):
        check_name(network)
    return canonical(NETWORKS.name_of(network))


def is_own(name: str) -> bool:
    """Whether the network is not built in: its code is a user's or of another package."""
    return name not in BUILT_IN


def fitting_network(input_shape: tuple[int, ...]) -> str:
    """Return the name of the network that 'auto' stands for."""
    if len(input_shape) != 3:
        return "mlp"
    return "mnist-cnn" if input_shape == (1, 28, 28) else "small-cnn"


@dataclass(frozen=True)
class Architecture:
    """A network with its options, from a checked spec. Runs with equal architectures can share a cohort.

    Creating one imports nothing. Its methods import the code that the name stands for.
    """

    name: str
    """A built-in network, or the name or dotted path of a module or of factory(input_shape, classes)."""
    dropout: float = 0.0
    """Probability that a unit is dropped in training; built-in networks only."""
    head_bias: bool = True
    """Whether the last layer has a bias; the soft penalty needs one without."""
    features: str | None = None
    """Dotted path of factory(input_shape). Its module stays frozen, and the network sees its output."""

    def check(self, input_shape: tuple[int, ...], classes: int) -> None:
        """Raise an InputError if the inputs do not fit or a user's module cannot be trained."""
        if self.features is not None:
            input_shape = build_features(self.features, input_shape, seed=0)[1]
        if not is_own(self.name):
            BUILT_IN[self.name].check(input_shape)
        elif self.dropout:
            raise InputError(
                f"dropout is {self.dropout:g}, but '{self.name}' is your own network: add nn.Dropout to it."
            )
        else:
            network = build_network(self.name, input_shape, classes, seed=0)
            check_network(self.name, network, input_shape, classes, head_bias=self.head_bias)

    def build(self, input_shape: tuple[int, ...], classes: int, seed: int = 0) -> nn.Module:
        """Return a module that returns (logits [B, classes], features [B, F]).

        Its weights are arbitrary. The seed is for modules of the user, which draw their own.
        """
        if self.features is not None:
            features, shape = build_features(self.features, input_shape, seed)
            return FrozenFeatures(features, replace(self, features=None).build(shape, classes, seed))
        if is_own(self.name):
            network = build_network(self.name, input_shape, classes, seed)
        else:
            with seeded_generator(seed):  # layers draw from torch's generator when created
                network = BUILT_IN[self.name].build(input_shape, classes, self.dropout)
        if not self.head_bias:
            head = head_of(network)
            assert head is not None
            head.bias = None  # type: ignore[assignment]
        return network

    def initial_state(
        self, input_shape: tuple[int, ...], classes: int, seed: int, role: Role
    ) -> dict[str, Tensor]:
        """Return the state dict that a run with this seed starts from.

        Weights of built-in networks are drawn from the seed. A user's module keeps the weights that its
        factory gave it, with torch's generator seeded.
        """
        module = self.build(input_shape, classes, step_key(stream_key(seed, Stream.WEIGHTS), role))
        network = module.network if isinstance(module, FrozenFeatures) else module
        if is_own(self.name):
            state = _copy_state(network) | dropout_keys(network, seed, role)
        else:
            state = initial_state(network, seed, role)
        if network is module:
            return state
        return _copy_state(module) | {f"network.{name}": tensor for name, tensor in state.items()}


def initial_state(network: nn.Module, seed: int, role: Role) -> dict[str, Tensor]:
    """Draw weights as PyTorch does by default, uniform within ±1/√fan-in, from the seed alone."""
    state = _copy_state(network)
    drawn = 0
    for path, module in network.named_modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            bound = module.weight[0].numel() ** -0.5
            for name, parameter in module.named_parameters():
                values = uniforms(seed, Stream.WEIGHTS, 2 * drawn + role, parameter.numel())
                weights = ((2 * values - 1) * bound).astype(np.float32)
                state[f"{path}.{name}"] = torch.from_numpy(weights).reshape(parameter.shape)
                drawn += 1
    return state | dropout_keys(network, seed, role)


def _copy_state(network: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}

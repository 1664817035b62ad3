"""Architecture: everything that decides which parameters a network has, and the weights a run starts from."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import torch
from torch import Tensor, nn

from noiselimit import networks  # the package: its NETWORKS exist only after this file is imported
from noiselimit.errors import InputError, number, unknown
from noiselimit.networks.module import (
    build_features,
    build_network,
    canonical,
    check_network,
    is_dotted,
    seeded_generator,
)
from noiselimit.networks.network import dropout_keys, head_of
from noiselimit.randomness import Stream, step_key, stream_key, uniforms


class Role(IntEnum):
    """Which of a run's two networks; each draws its own weights. The values are part of the results."""

    CLASSIFIER = 0
    PREDICTOR = 1


class _Flattened(nn.Module):
    """[B, ...] → [B, F]. Not nn.Flatten, which the engine would stack; a user's features cannot be."""

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1)


class FrozenFeatures(nn.Module):
    """[B, ...] → network(features(x)). The features do not learn and stay in evaluation mode."""

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
            inputs = self.flattened(self.features(x))
        logits, features = self.network(inputs)
        return logits, features


def check_name(name: object) -> None:
    """Raise an InputError unless it is a built-in network or a dotted path; imports nothing."""
    if not is_dotted(name) and name not in list(networks.NETWORKS):  # a list, for what cannot be hashed
        message = str(unknown("network", name, networks.NETWORKS))
        raise InputError(f"{message[:-1]}, or your own network as 'package.module:factory'{message[-1]}")


@dataclass(frozen=True)
class Architecture:
    """A network with its options. Runs with equal architectures can share a cohort.

    Creating one imports nothing. Only `check`, `build` and `initial_state` run the code at a dotted path.

    Parameters
    ----------
    name : str
        A built-in network, or the dotted path 'package.module:factory' of factory(input_shape, classes).
    dropout : float
        Probability that a unit is dropped in training; built-in networks only.
    head_bias : bool
        Whether the last layer has a bias; the soft penalty needs one without.
    features : str, optional
        Dotted path of factory(input_shape). Its module stays frozen, and the network sees its output.
    """

    name: str
    dropout: float = 0.0
    head_bias: bool = True
    features: str | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        object.__setattr__(self, "name", canonical(self.name))
        object.__setattr__(self, "dropout", number("dropout", self.dropout, at_least=0.0, below=1.0))
        if self.features is not None:
            if not is_dotted(self.features):
                raise InputError(
                    f"features '{self.features}' is not a dotted path: write it as 'package.module:factory'."
                )
            object.__setattr__(self, "features", canonical(self.features))
        if self.dropout and is_dotted(self.name):
            raise InputError(
                f"dropout is {self.dropout:g}, but '{self.name}' is your own network: add nn.Dropout to it."
            )

    def check(self, input_shape: tuple[int, ...], classes: int) -> None:
        """Raise an InputError if the inputs do not fit or a user's module cannot be trained."""
        if self.features is not None:
            _, width = build_features(self.features, input_shape, seed=0)
            input_shape = (width,)
        if is_dotted(self.name):
            network = build_network(self.name, input_shape, classes, seed=0)
            check_network(self.name, network, input_shape, classes, head_bias=self.head_bias)
        else:
            networks.get_network(self.name).check(input_shape)

    def build(self, input_shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return a module that returns (logits [B, classes], features [B, F]); its weights are arbitrary."""
        return self._build(input_shape, classes, seed=0)

    def initial_state(
        self, input_shape: tuple[int, ...], classes: int, seed: int, role: Role
    ) -> dict[str, Tensor]:
        """Return the state dict that a run with this seed starts from.

        Weights of built-in networks are drawn from the seed. A user's module keeps the weights that its
        factory gave it, with torch's generator seeded.
        """
        module = self._build(input_shape, classes, step_key(stream_key(seed, Stream.WEIGHTS), role))
        network = module.network if isinstance(module, FrozenFeatures) else module
        if is_dotted(self.name):
            state = _copy_state(network) | dropout_keys(network, seed, role)
        else:
            state = initial_state(network, seed, role)
        if network is module:
            return state
        return _copy_state(module) | {f"network.{name}": tensor for name, tensor in state.items()}

    def _build(self, input_shape: tuple[int, ...], classes: int, seed: int) -> nn.Module:
        """The seed is for modules of the user, which draw their own weights."""
        if self.features is not None:
            features, width = build_features(self.features, input_shape, seed)
            return FrozenFeatures(features, self._build_network((width,), classes, seed))
        return self._build_network(input_shape, classes, seed)

    def _build_network(self, input_shape: tuple[int, ...], classes: int, seed: int) -> nn.Module:
        if is_dotted(self.name):
            network = build_network(self.name, input_shape, classes, seed)
        else:
            with seeded_generator(seed):  # layers draw from torch's generator when created
                network = networks.get_network(self.name).build(input_shape, classes, self.dropout)
        if not self.head_bias:
            head = head_of(network)
            assert head is not None
            head.bias = None  # type: ignore[assignment]
        return network


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

"""What is built: a network of ours or somebody else's, with its dropout, head and frozen features."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from noiselimit import networks
from noiselimit.errors import InputError, number, unknown
from noiselimit.networks.dropout import dropout_keys
from noiselimit.networks.initial import Role, initial_state, own_state
from noiselimit.networks.module import (
    built_by,
    called,
    canonical,
    check_network,
    check_state,
    draws_when_pooling,
    foreign_network,
    is_dotted,
)
from noiselimit.networks.network import remove_head_bias, seeded_generator
from noiselimit.randomness import Stream, step_key, stream_key


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


# The package, whose NETWORKS are read when called: it imports this file before it knows them.

__all__ = ["Architecture", "canonical", "check_name", "is_dotted"]


def check_name(name: object) -> None:
    """Refuse what is neither a registered name nor written as a dotted path; imports nobody's code."""
    if not is_dotted(name) and name not in list(networks.NETWORKS):  # a list, for what cannot be hashed
        sentence = str(unknown("network", name, networks.NETWORKS))
        raise InputError(
            f"{sentence[:-1]}, or a network of your own, written as 'package.module:factory'{sentence[-1]}"
        )


@dataclass(frozen=True)
class Architecture:
    """Everything that decides which parameters a network has; equal architectures can share a cohort.

    Creating one imports nothing. Only `check`, `build` and `initial_state` run the code at a dotted path.
    """

    name: str
    """A registered name, or the dotted path 'package.module:factory' of factory(input_shape, classes)."""
    dropout: float = 0.0
    """Share of units dropped in training."""
    head_bias: bool = True
    """Whether the last layer has a bias; the soft penalty wants none."""
    features: str | None = None
    """Dotted path of factory(input_shape), whose module stays frozen; the network sees its output."""

    def __post_init__(self) -> None:
        check_name(self.name)
        object.__setattr__(self, "dropout", number("dropout", self.dropout, at_least=0.0, below=1.0))
        if self.features is not None and not is_dotted(self.features):
            raise InputError(
                f"features '{self.features}' is no dotted path: write it as 'package.module:factory'."
            )
        object.__setattr__(self, "name", canonical(self.name))
        if self.features is not None:
            object.__setattr__(self, "features", canonical(self.features))
        if self.dropout and is_dotted(self.name):
            raise InputError(
                f"dropout is {self.dropout:g}, but '{self.name}' is a network of your own: put dropout into "
                "your own network."
            )

    def check(self, input_shape: tuple[int, ...], classes: int) -> None:
        """Say before training that the inputs do not fit, or what is wrong with somebody else's code."""
        if self.features is not None:
            features = features_module(self.features, input_shape, seed=0)
            input_shape = (check_features(self.features, features, input_shape),)
        if is_dotted(self.name):
            network = foreign_network(self.name, input_shape, classes, seed=0)
            check_network(self.name, network, input_shape, classes, head_bias=self.head_bias)
        else:
            networks.get_network(self.name).check(input_shape)

    def build(self, input_shape: tuple[int, ...], classes: int) -> nn.Module:
        """The module, which returns (logits [B, classes], features [B, F]); its weights mean nothing yet."""
        return self._built(input_shape, classes, seed=0)

    def initial_state(
        self, input_shape: tuple[int, ...], classes: int, seed: int, role: Role
    ) -> dict[str, Tensor]:
        """The state dict that a run of this seed starts from: ours drawn by us, somebody else's as built."""
        module = self._built(input_shape, classes, step_key(stream_key(seed, Stream.WEIGHTS), role))
        network = module.network if isinstance(module, FrozenFeatures) else module
        if is_dotted(self.name):
            drawn = own_state(network) | dropout_keys(network, seed, role)
        else:
            drawn = initial_state(network, seed, role)
        if network is module:
            return drawn
        return own_state(module) | {f"network.{name}": tensor for name, tensor in drawn.items()}

    def _built(self, input_shape: tuple[int, ...], classes: int, seed: int) -> nn.Module:
        """`seed` is for the parts that somebody else initialises."""
        if self.features is not None:
            features = features_module(self.features, input_shape, seed)
            width = check_features(self.features, features, input_shape)
            return FrozenFeatures(features, self._network((width,), classes, seed))
        return self._network(input_shape, classes, seed)

    def _network(self, input_shape: tuple[int, ...], classes: int, seed: int) -> nn.Module:
        if is_dotted(self.name):
            network = foreign_network(self.name, input_shape, classes, seed)
        else:
            with seeded_generator(seed):  # layers draw when created; not while somebody else's network does
                network = networks.get_network(self.name).build(input_shape, classes, self.dropout)
        if not self.head_bias:
            remove_head_bias(network)
        return network

"""What the built-in networks share: their description, dropout, and the name of the last layer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from noiselimit.draws import random_words
from noiselimit.errors import InputError, number
from noiselimit.randomness import Stream, step_key, stream_key

HEADS = ("head", "fc")
"""Names that the last layer may have; pretrained weights for other classes leave it fresh."""


class Build(Protocol):
    """A function that builds a module; the module returns (logits, features)."""

    def __call__(self, input_shape: tuple[int, ...], classes: int, dropout: float = 0.0) -> nn.Module:
        """Build the module for inputs of this shape, without the batch dimension."""


@dataclass(frozen=True)
class Network:
    """A built-in network.

    Parameters
    ----------
    name : str
        What users type.
    build : Build
        Function or class (input_shape, classes, dropout) that builds the module.
    takes : {"images", "anything"}
        Which inputs it accepts.
    smallest_side : int
        Smallest height and width for which the convolutions leave something.
    """

    name: str
    build: Build
    takes: Literal["images", "anything"]
    smallest_side: int = 1

    def check(self, input_shape: tuple[int, ...]) -> None:
        """Raise an InputError if the network does not accept inputs of this shape."""
        if self.takes == "anything":
            return
        if len(input_shape) != 3:
            raise InputError(
                f"network '{self.name}' takes images, but the inputs are vectors of {input_shape[0]} "
                "features: choose 'mlp'."
            )
        if min(input_shape[1:]) < self.smallest_side:
            raise InputError(
                f"network '{self.name}' takes images of at least {self.smallest_side} × {self.smallest_side} "
                f"pixels, but these are {input_shape[1]} × {input_shape[2]}: choose 'small-cnn'."
            )


def in_float32(features: Tensor) -> Tensor:
    """Return what the last layer sees: logits need more digits than bfloat16 layers before it."""
    return features.to(torch.promote_types(features.dtype, torch.float32))


def head_of(network: nn.Module) -> nn.Linear | None:
    """Return the network's last layer, if it has one of the usual names."""
    layers = (getattr(network, name, None) for name in HEADS)
    return next((layer for layer in layers if isinstance(layer, nn.Linear)), None)


class Dropout(nn.Module):
    """Dropout whose draws are a function of (seed, role, layer, call) instead of torch's generator.

    The input is [B, ...] for one network (`key` and `calls` are []), or [K, B, ...] for K stacked rows (both
    are [K]). A row draws the same bits either way.

    Parameters
    ----------
    share : float
        Probability with which each value becomes zero; the others are divided by 1 − share.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = number("dropout", share, at_least=0.0, below=1.0)
        self.register_buffer("key", torch.zeros((), dtype=torch.int64))  # see `dropout_keys`
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))  # how often it has drawn
        self.key: Tensor
        self.calls: Tensor

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        keys = self.key.reshape(-1)
        words = random_words(keys, self.calls.reshape(-1), x.numel() // keys.numel())
        self.calls.add_(1)
        kept = words >= round(self.share * 2**64) - 2**63  # words are uniform over signed 64-bit numbers
        return torch.where(kept.view(x.shape), x * (1.0 / (1.0 - self.share)), 0.0)

    def extra_repr(self) -> str:
        return f"share={self.share:g}"


def relu(dropout: float) -> nn.Module:
    """Return ReLU and dropout as one layer, so that dropout does not change the names of later layers."""
    return nn.Sequential(nn.ReLU(), Dropout(dropout)) if dropout else nn.ReLU()


def dropout_keys(network: nn.Module, seed: int, role: int) -> dict[str, Tensor]:
    """Return name → key for every dropout layer, for a run's seed and the network's role in the run."""
    layers = [path for path, module in network.named_modules() if isinstance(module, Dropout)]
    stream = stream_key(seed, Stream.DROPOUT)
    words = [step_key(stream, 2 * layer + role) for layer in range(len(layers))]
    return {
        f"{path}.key".lstrip("."): torch.tensor(word - 2**64 if word >= 2**63 else word)
        for path, word in zip(layers, words, strict=True)
    }


def uses_dropout(network: nn.Module) -> bool:
    """Return whether any layer drops units in training."""
    return any(isinstance(module, Dropout) and module.share > 0 for module in network.modules())


def without_draws(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the state dict without the keys and counts of dropout layers, which belong to one run."""

    def is_draw(name: str) -> bool:
        path, _, last = name.rpartition(".")
        both = [state.get(f"{path}.{part}".lstrip(".")) for part in ("key", "calls")]
        return last in ("key", "calls") and all(t is not None and t.dtype == torch.int64 for t in both)

    return {name: tensor for name, tensor in state.items() if not is_draw(name)}

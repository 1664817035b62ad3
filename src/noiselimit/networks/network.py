"""What the built-in networks share: their description, dropout, and the name of the last layer."""

import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from noiselimit.errors import InputError, number
from noiselimit.randomness import Stream, row_words, signed, step_key, stream_key

HEADS = ("head", "fc")
"""Names that the last layer may have; pretrained weights for other classes leave it fresh."""

GENERATOR_LOCK = threading.RLock()
"""Held while torch's generator, which is global, is seeded: blocks are built and trained in threads."""

OWN_PART: ContextVar[tuple[int, int]] = ContextVar("OWN_PART", default=(0, 1))
"""The first example and the number of examples of the part of a batch that this process trains on."""


@dataclass(frozen=True)
class Network:
    """A built-in network."""

    name: str
    build: Callable[..., nn.Module]
    """(input_shape, classes, dropout=0) → module that returns (logits, features)."""
    smallest_side: int | None = None
    """Smallest height and width for which its convolutions leave something; None: it takes any inputs."""

    def check(self, input_shape: tuple[int, ...]) -> None:
        """Raise an InputError if the network does not accept inputs of this shape."""
        if self.smallest_side is None:
            return
        if len(input_shape) != 3:
            raise InputError(f"network '{self.name}' takes images, not vectors of features: choose 'mlp'.")
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
    are [K]). A row draws the same bits either way. Values become zero with probability `share`.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = number("dropout", share, at_least=0.0, below=1.0)
        self.register_buffer("key", torch.zeros((), dtype=torch.int64))  # see `dropout_keys`
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))  # how often it has drawn
        self.key: Tensor
        self.calls: Tensor

    @property
    def p(self) -> float:
        """The name of `share` in torch's layers, which attention layers read."""
        return self.share

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        keys = self.key.reshape(-1)
        first, examples = OWN_PART.get()
        count = x.numel() // keys.numel()
        words = row_words(keys, self.calls.reshape(-1), count, count // examples * first)
        self.calls.add_(1)
        kept = words >= round(self.share * 2**64) - 2**63  # words are uniform over signed 64-bit numbers
        return torch.where(kept.view(x.shape), x * (1.0 / (1.0 - self.share)), 0.0)


class Draws(Dropout):
    """Seeds torch's generator for every call of a network in training, by (seed, role, call).

    It is for layers that draw by themselves, such as attention with dropout. It is a child of the network,
    whose state then has its key. Networks with it take turns, because torch's generator is global.
    """

    NAME = "noiselimit_draws"

    def __init__(self) -> None:
        super().__init__(0.0)
        self.before: list[Tensor] = []

    @classmethod
    def add_to(cls, network: nn.Module) -> None:
        """Let the network draw from the run's seed."""
        network.add_module(cls.NAME, cls())
        network.register_forward_pre_hook(_seed)
        network.register_forward_hook(_restore, always_call=True)

    def forward(self, x: Tensor) -> Tensor:
        return x  # nn.Sequential calls its children


def _seed(network: nn.Module, inputs: tuple[Tensor, ...]) -> None:
    draws = network.get_submodule(Draws.NAME)
    assert isinstance(draws, Draws)
    if not network.training:
        return
    seed = step_key((int(draws.key) + OWN_PART.get()[0]) % 2**64, int(draws.calls)) % 2**63
    draws.calls.add_(1)
    GENERATOR_LOCK.acquire()
    draws.before.append(torch.get_rng_state())
    torch.default_generator.manual_seed(seed)
    if inputs[0].is_cuda:
        torch.cuda.manual_seed(seed)


def _restore(network: nn.Module, inputs: Any, output: Any) -> None:
    draws = network.get_submodule(Draws.NAME)
    assert isinstance(draws, Draws)
    if draws.before:
        torch.set_rng_state(draws.before.pop())
        GENERATOR_LOCK.release()


def relu(dropout: float) -> nn.Module:
    """Return ReLU and dropout as one layer, so that dropout does not change the names of later layers."""
    return nn.Sequential(nn.ReLU(), Dropout(dropout)) if dropout else nn.ReLU()


def dropout_keys(network: nn.Module, seed: int, role: int) -> dict[str, Tensor]:
    """Return name → key for every dropout layer, for a run's seed and the network's role in the run."""
    layers = [path for path, module in network.named_modules() if isinstance(module, Dropout)]
    stream = stream_key(seed, Stream.DROPOUT)
    return {
        f"{path}.key".lstrip("."): torch.tensor(signed(step_key(stream, 2 * layer + role)))
        for layer, path in enumerate(layers)
    }


def without_draws(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the state dict without the keys and counts of dropout layers, which belong to one run."""
    layers = {name.removesuffix("calls") for name in state if f".{name}".endswith(".calls")}
    draws = {layer + part for layer in layers if f"{layer}key" in state for part in ("key", "calls")}
    return {name: tensor for name, tensor in state.items() if name not in draws}

"""Torch's own generator, which layers draw from when they are created: borrowed, and given back as it was."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn, relu

from noiselimit.errors import InputError


class Build(Protocol):
    """How an architecture becomes a module with fresh weights."""

    def __call__(self, input_shape: tuple[int, ...], classes: int, dropout: float = 0.0) -> nn.Module:
        """(shape of one input, number of classes, share dropped) → module that returns (logits, features)."""


@dataclass(frozen=True)
class Network:
    """A named architecture."""

    name: str
    build: Build
    takes: Literal["images", "anything"]
    smallest_side: int = 1
    """Height and width below which the convolutions have nothing left."""

    def check(self, input_shape: tuple[int, ...]) -> None:
        """Say before training that the inputs do not fit."""
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


def convolution(
    inputs: int, outputs: int, *, kernel: int, stride: int, padding: int
) -> tuple[nn.Module, ...]:
    """Convolution, batch-norm, ReLU. No bias: its gradient would be rounding noise that Adam blows up."""
    return (
        nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


def feature_count(body: nn.Module, input_shape: tuple[int, ...]) -> int:
    """How many features `body` makes of one input."""
    was_training = body.training
    with torch.no_grad():
        count = body.eval()(torch.zeros(1, *input_shape)).shape[-1]
    body.train(was_training)
    return int(count)


def in_float32(features: Tensor) -> Tensor:
    """What a last layer sees: logits need more digits than the bfloat16 that layers before it may use."""
    return features.to(torch.promote_types(features.dtype, torch.float32))


def normalised(norm: nn.Module, x: Tensor, shortcut: Tensor | None = None) -> Tensor:
    """relu(norm(x) + shortcut). Layers other than torch's own take both with them."""
    if type(norm) is not nn.BatchNorm2d:
        fused: Any = norm
        out: Tensor = fused(x, shortcut, relu=True)
        return out
    normal: Tensor = norm(x)
    return relu(normal if shortcut is None else normal + shortcut)


HEADS = ("head", "fc")


def head_of(network: nn.Module) -> nn.Linear | None:
    """The network's last layer, if it is named as it should be."""
    for name in HEADS:
        head = getattr(network, name, None)
        if isinstance(head, nn.Linear):
            return head
    return None


def remove_head_bias(network: nn.Module) -> None:
    """Leave logits that are products of weights and features alone."""
    head = head_of(network)
    assert head is not None
    head.bias = None  # type: ignore[assignment]


_TURN = threading.Lock()  # the generator belongs to the whole process, and blocks are built in threads


@contextmanager
def seeded_generator(seed: int) -> Iterator[None]:
    """Whatever is created in here is drawn from this seed, whatever other threads create meanwhile."""
    with _TURN, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield

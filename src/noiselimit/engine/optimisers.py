"""Adam and SGD for K rows at once, each with its own rates, and learning-rate schedules."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

PIECE = 2**16
"""Weights that are updated at a time on a CPU, so that they stay in its cache."""


class Rates(NamedTuple):
    """What an optimiser step needs besides the gradient. A CUDA graph reads its tensors, so they stay."""

    learning_rate: Tensor  # float64 [K]
    weight_decay: Tensor
    momentum: Tensor
    step: Tensor  # int64 []: steps taken so far

    @classmethod
    def zeros(cls, rows: int, step: Tensor) -> "Rates":
        first, second, third = (torch.zeros(rows, dtype=torch.float64, device=step.device) for _ in range(3))
        return cls(first, second, third, step)

    def fill(self, rows: Sequence[tuple[float, float, float]]) -> None:
        """Set the three rates of every row."""
        for rate, values in zip(self[:3], zip(*rows, strict=True), strict=True):
            rate.copy_(torch.tensor(values, dtype=torch.float64))


Tensors = Mapping[str, Tensor]


@dataclass(frozen=True)
class Optimiser:
    """An update rule for weights [K, n]."""

    name: str
    state: tuple[str, ...]
    """Names of the tensors kept beside the weights; they start at zero."""
    factors: Callable[[Rates], Tensors]
    """What follows from the rates alone, [K]; computed once per step."""
    rule: Callable[[Tensor, Tensor, Tensors, Tensors], None]
    """(weights, gradients, state, factors): elementwise and in place."""
    kernels: bool = False
    """Use our kernel, if there is one. The weights must be on a GPU."""

    def update(self, weights: Tensor, gradients: Tensor, state: Tensors, rates: Rates) -> None:
        """Take one step, in place."""
        if self.kernels and self.name == "adam" and weights.dtype == torch.float32:
            from noiselimit.engine.kernels.adam import adam

            adam(weights, gradients, state, rates.learning_rate, rates.weight_decay, rates.step)
            return
        on_cpu = weights.device.type == "cpu"
        given = dict(self.factors(rates))
        if not on_cpu or (rates.weight_decay != 0).any():  # looking at it would stall a GPU
            given["weight_decay"] = rates.weight_decay
        factors = {name: factor.to(weights.dtype).unsqueeze(1) for name, factor in given.items()}
        width = max(1, PIECE // len(weights)) if on_cpu else weights.shape[1]
        for start in range(0, weights.shape[1], width):
            piece = slice(start, start + width)
            kept = {name: tensor[:, piece] for name, tensor in state.items()}
            self.rule(weights[:, piece], gradients[:, piece], kept, factors)


def _decayed(weights: Tensor, gradients: Tensor, factors: Tensors) -> Tensor:
    """Gradients of the loss plus an L2 penalty."""
    decay = factors.get("weight_decay")
    return gradients if decay is None else gradients + decay * weights


def _adam_factors(rates: Rates) -> Tensors:
    taken = (rates.step + 1).to(torch.float64)
    return {
        "length": rates.learning_rate / (1 - 0.9**taken),
        "correction": (1 - 0.999**taken).sqrt().expand_as(rates.learning_rate),
    }


def _adam(weights: Tensor, gradients: Tensor, state: Tensors, factors: Tensors) -> None:
    """torch.optim.Adam with betas (.9, .999) and eps 1e-8."""
    gradients = _decayed(weights, gradients, factors)
    mean, square = state["mean"], state["square"]
    mean.mul_(0.9)
    mean.add_(gradients * 0.1)
    squares = gradients * gradients
    square.mul_(0.999)
    square.add_(squares.mul_(0.001))
    roots = square.sqrt().div_(factors["correction"]).add_(1e-8)
    weights.sub_((mean * factors["length"]).div_(roots))


def _sgd_factors(rates: Rates) -> Tensors:
    return {"momentum": rates.momentum, "length": rates.learning_rate}


def _sgd(weights: Tensor, gradients: Tensor, state: Tensors, factors: Tensors) -> None:
    """torch.optim.SGD with momentum."""
    gradients = _decayed(weights, gradients, factors)
    velocity = state["velocity"]
    velocity.mul_(factors["momentum"])
    velocity.add_(gradients)
    weights.sub_(velocity * factors["length"])


OPTIMISERS: Mapping[str, Optimiser] = {
    "adam": Optimiser("adam", ("mean", "square"), _adam_factors, _adam),
    "sgd": Optimiser("sgd", ("velocity",), _sgd_factors, _sgd),
}

SCHEDULES: Mapping[str, Callable[[float], float]] = {
    "constant": lambda progress: 1.0,
    "cosine": lambda progress: 0.5 * (1.0 + math.cos(math.pi * progress)),
}
"""Name → factor on the learning rate, as a function of finished epochs / planned epochs in [0, 1)."""

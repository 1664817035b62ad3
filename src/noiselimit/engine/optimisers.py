"""Learning rate as a function of how far a run has come; it changes from epoch to epoch, not within one."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rates:
    """What one step needs besides the gradient; all [K], or [] for the step number."""

    learning_rate: Tensor
    weight_decay: Tensor
    momentum: Tensor
    step: Tensor
    """How many steps were taken before this one, int64 []."""

    def copy_(self, other: "Rates") -> None:
        """Take over the other's rates, in the same tensors; the step number stays what it is."""
        self.learning_rate.copy_(other.learning_rate)
        self.weight_decay.copy_(other.weight_decay)
        self.momentum.copy_(other.momentum)

    def of_rows(self, rows: Tensor) -> "Rates":
        """The rates of these rows, int64 [R]."""
        return Rates(self.learning_rate[rows], self.weight_decay[rows], self.momentum[rows], self.step)


Factors = Mapping[str, Tensor]
"""What follows from the rates alone, [K, 1]; computed once per step."""

PIECE = 2**16
"""Weights that are updated at a time on a CPU, so that they stay in its cache meanwhile."""


Update = Callable[[Tensor, Tensor, Mapping[str, Tensor], Rates], None]
"""(weights, gradients, state, rates): one step on [K, n]; changes the weights and their state in place."""

Rule = Callable[[Tensor, Tensor, Mapping[str, Tensor], Factors], None]
"""The same with factors. Elementwise, so that it may be applied to any part of the weights. Without a factor
weight_decay there is none."""


@dataclass(frozen=True)
class Optimiser:
    """A named way to take steps."""

    name: str
    state: tuple[str, ...]
    """Names of the tensors kept beside the weights; they start at zero."""
    update: Update


def _update(
    find_factors: Callable[[Rates], Factors],
    rule: Rule,
    weights: Tensor,
    gradients: Tensor,
    state: Mapping[str, Tensor],
    rates: Rates,
) -> None:
    """A step by the rule."""
    on_cpu = weights.device.type == "cpu"
    given = dict(find_factors(rates))
    if not on_cpu or (rates.weight_decay != 0).any():  # to look would stall a GPU
        given["weight_decay"] = rates.weight_decay
    factors = {name: factor.to(weights.dtype).unsqueeze(1) for name, factor in given.items()}
    width = max(1, PIECE // len(weights)) if on_cpu else weights.shape[1]
    for start in range(0, weights.shape[1], width):
        piece = slice(start, start + width)
        kept = {name: tensor[:, piece] for name, tensor in state.items()}
        rule(weights[:, piece], gradients[:, piece], kept, factors)


def _decayed(weights: Tensor, gradients: Tensor, factors: Factors) -> Tensor:
    """Gradients of the loss and of an L2 penalty."""
    decay = factors.get("weight_decay")
    return gradients if decay is None else gradients + decay * weights


def _adam_factors(rates: Rates) -> Factors:
    taken = (rates.step + 1).to(torch.float64)
    return {
        "length": rates.learning_rate / (1 - 0.9**taken),
        "correction": (1 - 0.999**taken).sqrt().expand_as(rates.learning_rate),
    }


def _adam(weights: Tensor, gradients: Tensor, state: Mapping[str, Tensor], factors: Factors) -> None:
    """torch.optim.Adam with its default betas (.9, .999) and eps 1e-8."""
    gradients = _decayed(weights, gradients, factors)
    mean, square = state["mean"], state["square"]
    mean.mul_(0.9)
    mean.add_(gradients * 0.1)
    squares = gradients * gradients
    square.mul_(0.999)
    square.add_(squares.mul_(0.001))
    roots = square.sqrt().div_(factors["correction"]).add_(1e-8)
    weights.sub_((mean * factors["length"]).div_(roots))


def _sgd_factors(rates: Rates) -> Factors:
    return {"momentum": rates.momentum, "length": rates.learning_rate}


def _sgd(weights: Tensor, gradients: Tensor, state: Mapping[str, Tensor], factors: Factors) -> None:
    """torch.optim.SGD with momentum."""
    gradients = _decayed(weights, gradients, factors)
    velocity = state["velocity"]
    velocity.mul_(factors["momentum"])
    velocity.add_(gradients)
    weights.sub_(velocity * factors["length"])


OPTIMISERS: Mapping[str, Optimiser] = {
    optimiser.name: optimiser
    for optimiser in (
        Optimiser("adam", ("mean", "square"), partial(_update, _adam_factors, _adam)),
        Optimiser("sgd", ("velocity",), partial(_update, _sgd_factors, _sgd)),
    )
}


def _adam_with_kernel(weights: Tensor, gradients: Tensor, state: Mapping[str, Tensor], rates: Rates) -> None:
    if weights.dtype != torch.float32:  # of somebody else's network
        OPTIMISERS["adam"].update(weights, gradients, state, rates)
        return
    from noiselimit.engine.kernels.adam import adam

    adam(weights, gradients, state, rates.learning_rate, rates.weight_decay, rates.step)


def with_kernels(optimiser: Optimiser) -> Optimiser:
    """The same on a GPU in one launch, where we have a kernel for it."""
    return replace(optimiser, update=_adam_with_kernel) if optimiser.name == "adam" else optimiser


def constant(progress: float) -> float:
    """The same rate throughout."""
    return 1.0


def cosine(progress: float) -> float:
    """Half a cosine from one to zero."""
    return 0.5 * (1.0 + math.cos(math.pi * progress))


SCHEDULES: Mapping[str, Callable[[float], float]] = {"constant": constant, "cosine": cosine}
"""Name → factor on the learning rate, of the progress (epochs finished / epochs planned) in [0, 1)."""

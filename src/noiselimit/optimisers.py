"""Adam and SGD over stacked parameters, with a learning rate and a weight decay per row.

Every line is one rounding per element (no fused multiply-add), so a row's update does not depend on where in
memory the row lies: rows are equal bit by bit to the same run alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

Buffers = dict[str, Tensor]
"""State name → [K, ...], for one parameter."""


@dataclass(frozen=True)
class Rates:
    """What one step needs besides the gradient; all [K], or [] for the step number."""

    learning_rate: Tensor
    weight_decay: Tensor
    momentum: Tensor
    step: Tensor
    """How many steps were taken before this one, int64 []."""

    def first(self, rows: int) -> "Rates":
        """The rates of the first rows only."""
        return Rates(self.learning_rate[:rows], self.weight_decay[:rows], self.momentum[:rows], self.step)


@dataclass(frozen=True)
class Optimiser:
    """A named update rule."""

    name: str
    state: tuple[str, ...]
    """Names of the tensors kept per parameter; they start at zero."""
    update: Callable[[Tensor, Tensor, Buffers, Rates], None]
    """(parameter, gradient, state, rates): changes the parameter and its state in place."""


def _column(vector: Tensor, like: Tensor) -> Tensor:
    """[K] → [K, 1, ...], to multiply row by row."""
    return vector.to(like.dtype).view(-1, *[1] * (like.dim() - 1))


def _decayed(parameter: Tensor, gradient: Tensor, rates: Rates) -> Tensor:
    return gradient + parameter * _column(rates.weight_decay, parameter)


def _adam(parameter: Tensor, gradient: Tensor, state: Buffers, rates: Rates) -> None:
    """torch.optim.Adam with its default betas (.9, .999) and eps 1e-8; weight decay is L2."""
    gradient = _decayed(parameter, gradient, rates)
    state["mean"].mul_(0.9).add_(gradient * 0.1)
    state["square"].mul_(0.999).add_(gradient.square().mul_(0.001))
    taken = (rates.step + 1).to(torch.float64)
    rate = rates.learning_rate.to(torch.float64) / (1 - 0.9**taken)
    root = state["square"].sqrt().div_((1 - 0.999**taken).sqrt().to(parameter.dtype)).add_(1e-8)
    parameter.sub_((state["mean"] * _column(rate, parameter)).div_(root))


def _sgd(parameter: Tensor, gradient: Tensor, state: Buffers, rates: Rates) -> None:
    """torch.optim.SGD with momentum; weight decay is L2."""
    gradient = _decayed(parameter, gradient, rates)
    state["velocity"].mul_(_column(rates.momentum, parameter)).add_(gradient)
    parameter.sub_(state["velocity"] * _column(rates.learning_rate, parameter))


OPTIMISERS: Mapping[str, Optimiser] = {
    optimiser.name: optimiser
    for optimiser in (
        Optimiser("adam", ("mean", "square"), _adam),
        Optimiser("sgd", ("velocity",), _sgd),
    )
}

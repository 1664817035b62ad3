"""Adam and SGD over stacked parameters, with a learning rate and a weight decay per row.

Every operation rounds once per element (no fused multiply-add), so a row's update does not depend on where
in memory the row lies: rows are equal bit by bit to the same run alone. Operations go over all parameters at
once (torch's multi-tensor functions): on a GPU one launch serves a whole network.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Tensors = list[Tensor]
"""One tensor [K, ...] per parameter."""


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
    update: Callable[[Tensors, Tensors, Mapping[str, Tensors], Rates], None]
    """(parameters, gradients, state, rates): changes the parameters and their state in place."""


def _by_row(vector: Tensor, tensors: Sequence[Tensor]) -> Tensors:
    """The tensors with row k multiplied by element k of the vector [K]."""
    return [tensor * vector.to(tensor.dtype).view(-1, *[1] * (tensor.dim() - 1)) for tensor in tensors]


def _decayed(parameters: Tensors, gradients: Tensors, rates: Rates) -> Tensors:
    return list(torch._foreach_add(gradients, _by_row(rates.weight_decay, parameters)))


def _adam(parameters: Tensors, gradients: Tensors, state: Mapping[str, Tensors], rates: Rates) -> None:
    """torch.optim.Adam with its default betas (.9, .999) and eps 1e-8; weight decay is L2."""
    gradients = _decayed(parameters, gradients, rates)
    mean, square = state["mean"], state["square"]
    torch._foreach_mul_(mean, 0.9)
    torch._foreach_add_(mean, torch._foreach_mul(gradients, 0.1))
    squares = torch._foreach_mul(gradients, gradients)
    torch._foreach_mul_(squares, 0.001)
    torch._foreach_mul_(square, 0.999)
    torch._foreach_add_(square, squares)
    taken = (rates.step + 1).to(torch.float64)
    changes = _by_row(rates.learning_rate / (1 - 0.9**taken), mean)
    roots = torch._foreach_sqrt(square)
    torch._foreach_div_(roots, (1 - 0.999**taken).sqrt().to(roots[0].dtype))
    torch._foreach_add_(roots, 1e-8)
    torch._foreach_div_(changes, roots)
    torch._foreach_sub_(parameters, changes)


def _sgd(parameters: Tensors, gradients: Tensors, state: Mapping[str, Tensors], rates: Rates) -> None:
    """torch.optim.SGD with momentum; weight decay is L2."""
    gradients = _decayed(parameters, gradients, rates)
    velocity = state["velocity"]
    torch._foreach_copy_(velocity, _by_row(rates.momentum, velocity))
    torch._foreach_add_(velocity, gradients)
    torch._foreach_sub_(parameters, _by_row(rates.learning_rate, velocity))


OPTIMISERS: Mapping[str, Optimiser] = {
    optimiser.name: optimiser
    for optimiser in (
        Optimiser("adam", ("mean", "square"), _adam),
        Optimiser("sgd", ("velocity",), _sgd),
    )
}

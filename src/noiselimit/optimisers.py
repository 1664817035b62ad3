"""Adam and SGD over stacked parameters, with a learning rate and a weight decay per row.

Every operation rounds once per element (no fused multiply-add), so a row's update does not depend on where
in memory the row lies: rows are equal bit by bit to the same run alone. On a GPU operations go over all
parameters at once (torch's multi-tensor functions), so that one launch serves a whole network; on a CPU all
operations go over a large parameter piece by piece, so that a piece comes from memory once and not for each.
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

    def between(self, start: int, stop: int) -> "Rates":
        """The rates of the rows start … stop."""
        rows = slice(start, stop)
        return Rates(self.learning_rate[rows], self.weight_decay[rows], self.momentum[rows], self.step)


Factors = Mapping[str, Tensor]
"""What follows from the rates alone, [K]; computed once per step."""

PIECE = 2**16
"""Elements of a parameter that are updated at a time on a CPU, so that they stay in its cache meanwhile."""


@dataclass(frozen=True)
class Optimiser:
    """A named update rule."""

    name: str
    state: tuple[str, ...]
    """Names of the tensors kept per parameter; they start at zero."""
    factors: Callable[[Rates], Factors]
    rule: Callable[[Tensors, Tensors, Mapping[str, Tensors], Factors], None]
    """(parameters, gradients, state, factors): changes parameters and state in place. Elementwise, so that it
    may be applied to any part of the parameters; weight decay is in the gradients already."""

    def update(
        self, parameters: Tensors, gradients: Tensors, state: Mapping[str, Tensors], rates: Rates
    ) -> None:
        """One step: changes the parameters and their state in place."""
        factors = {"weight_decay": rates.weight_decay, **self.factors(rates)}
        on_cpu = parameters[0].device.type == "cpu"
        large = [i for i, tensor in enumerate(parameters) if on_cpu and tensor[0].numel() > PIECE]
        small = [i for i in range(len(parameters)) if i not in large]
        if small:
            chosen = {name: [tensors[i] for i in small] for name, tensors in state.items()}
            own = [parameters[i] for i in small]
            self.rule(own, _decayed(own, [gradients[i] for i in small], factors), chosen, factors)
        for i in large:
            for row in range(len(parameters[i])):
                self._update_row(
                    parameters[i][row],
                    gradients[i][row],
                    {name: tensors[i][row] for name, tensors in state.items()},
                    {name: factor[row : row + 1] for name, factor in factors.items()},
                )

    def _update_row(
        self, parameter: Tensor, gradient: Tensor, state: Mapping[str, Tensor], factors: Factors
    ) -> None:
        """One large parameter of one row, piece by piece."""
        decays = bool(factors["weight_decay"] != 0)
        pieces = [_pieces(tensor) for tensor in (parameter, gradient, *state.values())]
        for own, slope, *kept in zip(*pieces, strict=True):
            slopes = _decayed([own], [slope], factors) if decays else [slope]
            self.rule([own], slopes, {name: [part] for name, part in zip(state, kept, strict=True)}, factors)


def _pieces(tensor: Tensor) -> Sequence[Tensor]:
    """Views [1, PIECE] of all of it; the last may be shorter. Of a gradient it may be copies."""
    flat = tensor.reshape(1, -1)
    return [flat[:, start : start + PIECE] for start in range(0, flat.shape[1], PIECE)]


def _by_row(vector: Tensor, tensors: Sequence[Tensor]) -> Tensors:
    """The tensors with row k multiplied by element k of the vector [K]."""
    if len(vector) == 1:  # one number for all: torch's multi-tensor function knows that case
        return list(torch._foreach_mul(list(tensors), vector[0].to(tensors[0].dtype)))
    return [tensor * vector.to(tensor.dtype).view(-1, *[1] * (tensor.dim() - 1)) for tensor in tensors]


def _decayed(parameters: Tensors, gradients: Tensors, factors: Factors) -> Tensors:
    """Gradients of the loss and of an L2 penalty."""
    return list(torch._foreach_add(gradients, _by_row(factors["weight_decay"], parameters)))


def _adam_factors(rates: Rates) -> Factors:
    taken = (rates.step + 1).to(torch.float64)
    return {
        "length": rates.learning_rate / (1 - 0.9**taken),
        "correction": (1 - 0.999**taken).sqrt().expand_as(rates.learning_rate),
    }


def _adam(parameters: Tensors, gradients: Tensors, state: Mapping[str, Tensors], factors: Factors) -> None:
    """torch.optim.Adam with its default betas (.9, .999) and eps 1e-8."""
    mean, square = state["mean"], state["square"]
    torch._foreach_mul_(mean, 0.9)
    torch._foreach_add_(mean, torch._foreach_mul(gradients, 0.1))
    squares = torch._foreach_mul(gradients, gradients)
    torch._foreach_mul_(squares, 0.001)
    torch._foreach_mul_(square, 0.999)
    torch._foreach_add_(square, squares)
    changes = _by_row(factors["length"], mean)
    roots = torch._foreach_sqrt(square)
    torch._foreach_div_(roots, factors["correction"][0].to(roots[0].dtype))  # the same for all rows
    torch._foreach_add_(roots, 1e-8)
    torch._foreach_div_(changes, roots)
    torch._foreach_sub_(parameters, changes)


def _sgd_factors(rates: Rates) -> Factors:
    return {"momentum": rates.momentum, "length": rates.learning_rate}


def _sgd(parameters: Tensors, gradients: Tensors, state: Mapping[str, Tensors], factors: Factors) -> None:
    """torch.optim.SGD with momentum."""
    velocity = state["velocity"]
    torch._foreach_copy_(velocity, _by_row(factors["momentum"], velocity))
    torch._foreach_add_(velocity, gradients)
    torch._foreach_sub_(parameters, _by_row(factors["length"], velocity))


OPTIMISERS: Mapping[str, Optimiser] = {
    optimiser.name: optimiser
    for optimiser in (
        Optimiser("adam", ("mean", "square"), _adam_factors, _adam),
        Optimiser("sgd", ("velocity",), _sgd_factors, _sgd),
    )
}

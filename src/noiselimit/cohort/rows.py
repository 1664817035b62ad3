"""K networks of one architecture, with each row's weights, statistics, optimiser state and best epoch."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from noiselimit.cohort.layouts import Forward, layout_for
from noiselimit.optimisers import Optimiser, Rates

State = Mapping[str, Tensor]
"""Name → tensor: stacked [K, ...] in here, an ordinary state dict once a row is taken out."""


class NetworkRows:
    """Stacked tensors of K rows. Rows never mix: each sees its own batch and its own gradient."""

    def __init__(
        self, module: nn.Module, states: Sequence[State], optimiser: Optimiser, device: torch.device
    ) -> None:
        learned = [name for name, parameter in module.named_parameters() if parameter.requires_grad]
        given = {name for name, _ in module.named_parameters()} - set(learned)
        self.frozen = {name: _shared([state[name] for state in states]).to(device) for name in given}
        """Parameters that do not learn: [1, ...] where they are the same in all rows, else [K, ...]."""
        stacked = {
            name: torch.stack([state[name] for state in states]).to(device)
            for name in states[0]
            if name not in given
        }
        self.parameters = {name: stacked[name].requires_grad_() for name in learned}
        self.buffers = {name: tensor for name, tensor in stacked.items() if name not in self.parameters}
        self.optimiser = optimiser
        self.moments = {
            part: [torch.zeros_like(tensor) for tensor in self.parameters.values()]
            for part in optimiser.state
        }
        self.best = {name: tensor.detach().clone() for name, tensor in stacked.items()}
        self._forward: Forward = layout_for(module, device, len(states))

    def __len__(self) -> int:
        return len(next(iter(self.best.values())))

    def train(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """[K, B, ...] → logits [K, B, C], features [K, B, F], in training mode, for back-propagation."""
        return self._forward(self.parameters, self.buffers | self._frozen_rows(None), inputs, True)

    @torch.no_grad()
    def logits(self, inputs: Tensor, rows: Sequence[int] | None = None, *, best: bool = False) -> Tensor:
        """[k, B, ...] → [k, B, C] in evaluation mode, for all or some rows, with current or best weights."""
        current = {**self.parameters, **self.buffers}
        state = self.best if best else current
        if rows is not None:
            state = {name: tensor[rows] for name, tensor in state.items()}
        parameters = {name: state[name] for name in self.parameters}
        buffers = {name: state[name] for name in self.buffers}
        return self._forward(parameters, buffers | self._frozen_rows(rows), inputs, False)[0]

    @torch.no_grad()
    def update(self, gradients: Sequence[Tensor], rates: Rates) -> None:
        """One optimiser step; `gradients` in the order of `parameters`."""
        self.optimiser.update(list(self.parameters.values()), list(gradients), self.moments, rates)

    @torch.no_grad()
    def finite(self) -> Tensor:
        """bool [K]: whether all weights of the row are finite."""
        finite = [tensor.isfinite().flatten(1).all(1) for tensor in self.parameters.values()]
        return torch.stack(finite).all(0)

    @torch.no_grad()
    def remember(self, rows: Sequence[int]) -> None:
        """The current weights of these rows become their best ones."""
        for name, best in self.best.items():
            current = self.parameters.get(name, self.buffers.get(name))
            assert current is not None
            best[rows] = current[rows]

    @torch.no_grad()
    def keep(self, rows: Sequence[int]) -> None:
        """Drop all other rows."""
        self.parameters = {name: t.detach()[rows].requires_grad_() for name, t in self.parameters.items()}
        self.buffers = {name: tensor[rows] for name, tensor in self.buffers.items()}
        self.best = {name: tensor[rows] for name, tensor in self.best.items()}
        self.frozen = {
            name: tensor[rows] if len(tensor) > 1 else tensor for name, tensor in self.frozen.items()
        }
        self.moments = {part: [tensor[rows] for tensor in tensors] for part, tensors in self.moments.items()}

    def best_state(self, row: int) -> State:
        """The row's best-epoch weights and statistics, as an ordinary state dict on the CPU."""
        state = self.best | self._frozen_rows([row])
        return {name: tensor[row if name in self.best else 0].cpu().clone() for name, tensor in state.items()}

    def _frozen_rows(self, rows: Sequence[int] | None) -> dict[str, Tensor]:
        """The frozen parameters of these rows, or of all, [k, ...]; shared ones are not copied."""
        count = len(self) if rows is None else len(rows)
        return {
            name: tensor.expand(count, *tensor.shape[1:])
            if len(tensor) == 1
            else tensor
            if rows is None
            else tensor[rows]
            for name, tensor in self.frozen.items()
        }


def _shared(tensors: Sequence[Tensor]) -> Tensor:
    """[1, ...] of tensors that are all the same, else all of them stacked."""
    same = all(torch.equal(tensor, tensors[0]) for tensor in tensors)
    return tensors[0].unsqueeze(0).clone() if same else torch.stack(list(tensors))

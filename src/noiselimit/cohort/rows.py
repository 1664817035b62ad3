"""K networks of one architecture, with each row's weights, statistics, optimiser state and best epoch."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from noiselimit.cohort.layouts import Forward
from noiselimit.cohort.packing import Packing
from noiselimit.networks.dropout import drops_units
from noiselimit.optimisers import Optimiser, Rates

State = Mapping[str, Tensor]
"""Name → tensor: stacked [K, ...] in here, an ordinary state dict once a row is taken out."""

Rows = Sequence[int] | slice
"""Some of the rows; a slice is looked at, a list of them copied."""


class NetworkRows:
    """Stacked tensors of K rows. Rows never mix: each sees its own batch and its own gradient."""

    def __init__(
        self,
        module: nn.Module,
        states: Sequence[State],
        optimiser: Optimiser,
        device: torch.device,
        forward: Forward,
    ) -> None:
        """`forward` is one of `noiselimit.cohort.layouts` of the same module."""
        learned = {name: tensor for name, tensor in module.named_parameters() if tensor.requires_grad}
        given = {name for name, _ in module.named_parameters()} - set(learned)
        self.packing = Packing.of(learned, channels_last=device.type == "cuda")
        self.frozen = {name: _shared([state[name] for state in states]).to(device) for name in given}
        """Parameters that do not learn: [1, ...] where they are the same in all rows, else [K, ...]."""
        self.weights = self.packing.pack(states).to(device).requires_grad_()
        """[K, length]: all parameters that learn."""
        self.buffers = {
            name: torch.stack([state[name] for state in states]).to(device)
            for name in states[0]
            if name not in given and name not in learned
        }
        self.optimiser = optimiser
        self.moments = {part: torch.zeros_like(self.weights) for part in optimiser.state}
        self.best_weights = self.weights.detach().clone()
        self.best_buffers = {name: tensor.clone() for name, tensor in self.buffers.items()}
        self.drops_units = drops_units(module)
        """Whether training switches some of their units off."""
        self._forward = forward

    def __len__(self) -> int:
        return len(self.weights)

    def train(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """[K, B, ...] → logits [K, B, C], features [K, B, F], in training mode, for back-propagation."""
        parameters = self.packing.unpack(self.weights)
        return self._forward(parameters, self.buffers | self._frozen_rows(slice(None)), inputs, True)

    @torch.no_grad()
    def logits(self, inputs: Tensor, rows: Rows, *, best: bool = False) -> Tensor:
        """[k, B, ...] → [k, B, C] in evaluation mode, of these rows, with current or best weights."""
        weights, buffers = (self.best_weights, self.best_buffers) if best else (self.weights, self.buffers)
        parameters = self.packing.unpack(weights[rows])
        buffers = {name: tensor[rows] for name, tensor in buffers.items()}
        return self._forward(parameters, buffers | self._frozen_rows(rows), inputs, False)[0]

    @torch.no_grad()
    def update(self, gradients: Tensor, rates: Rates) -> None:
        """One optimiser step; `gradients` as `weights`."""
        self.optimiser.update(self.weights, gradients, self.moments, rates)

    @torch.no_grad()
    def finite(self) -> Tensor:
        """bool [K]: whether all weights of the row are finite."""
        return self.weights.isfinite().all(1)

    @torch.no_grad()
    def remember(self, rows: Sequence[int]) -> None:
        """The current weights of these rows become their best ones."""
        self.best_weights[rows] = self.weights[rows]
        for name, best in self.best_buffers.items():
            best[rows] = self.buffers[name][rows]

    @torch.no_grad()
    def keep(self, rows: Sequence[int]) -> None:
        """Drop all other rows."""
        self.weights = self.weights.detach()[rows].requires_grad_()
        self.best_weights = self.best_weights[rows]
        self.buffers = {name: tensor[rows] for name, tensor in self.buffers.items()}
        self.best_buffers = {name: tensor[rows] for name, tensor in self.best_buffers.items()}
        self.frozen = {
            name: tensor[rows] if len(tensor) > 1 else tensor for name, tensor in self.frozen.items()
        }
        self.moments = {part: tensor[rows] for part, tensor in self.moments.items()}

    def held(self) -> dict[str, Tensor]:
        """All that training changes, [K, ...] by name: the tensors themselves."""
        return {
            "weights": self.weights.detach(),
            "best_weights": self.best_weights,
            **{f"moments.{part}": tensor for part, tensor in self.moments.items()},
            **{f"buffers.{name}": tensor for name, tensor in self.buffers.items()},
            **{f"best_buffers.{name}": tensor for name, tensor in self.best_buffers.items()},
        }

    def is_packed(self, name: str) -> bool:
        """Whether what `held` names so are vectors of all weights."""
        return name.partition(".")[0] in ("weights", "best_weights", "moments")

    def best_state(self, row: int) -> State:
        """The row's best-epoch weights and statistics, as an ordinary state dict on the CPU."""
        one = slice(row, row + 1)
        parameters = self.packing.unpack(self.best_weights[one])
        buffers = {name: tensor[one] for name, tensor in self.best_buffers.items()}
        state = parameters | buffers | self._frozen_rows(one)
        return {
            name: tensor[0].cpu().clone(memory_format=torch.contiguous_format)
            for name, tensor in state.items()
        }

    def _frozen_rows(self, rows: Rows) -> dict[str, Tensor]:
        """The frozen parameters of these rows, [k, ...]; shared ones are not copied."""
        count = len(range(len(self))[rows]) if isinstance(rows, slice) else len(rows)
        return {
            name: tensor.expand(count, *tensor.shape[1:]) if len(tensor) == 1 else tensor[rows]
            for name, tensor in self.frozen.items()
        }


def _shared(tensors: Sequence[Tensor]) -> Tensor:
    """[1, ...] of tensors that are all the same, else all of them stacked."""
    same = all(torch.equal(tensor, tensors[0]) for tensor in tensors)
    return tensors[0].unsqueeze(0).clone() if same else torch.stack(list(tensors))

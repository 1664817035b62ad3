"""K networks of one architecture: stacked weights, statistics, optimiser state and best epoch of each row."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from noiselimit.engine.layouts import Forward
from noiselimit.engine.optimisers import Optimiser, Rates
from noiselimit.networks.network import Dropout

_ALIGNMENT = 64
"""Every parameter starts at a multiple of this many values, so arithmetic is the same in every row."""


class Packing:
    """Packs named parameters into one vector per row, and unpacks them."""

    def __init__(self, parameters: Mapping[str, Tensor], *, channels_last: bool = False) -> None:
        """`channels_last`: store the inputs of convolutions innermost, which is fastest on a GPU."""
        self.channels_last = channels_last
        self._shapes = {name: tuple(tensor.shape) for name, tensor in parameters.items()}
        self._types = {name: tensor.dtype for name, tensor in parameters.items()}

    def pack(self, states: Sequence[Mapping[str, Tensor]]) -> Tensor:
        """K state dicts → [K, length], with zeros between parameters."""
        pieces = [torch.zeros(len(states), 0)]
        for name, shape in self._shapes.items():
            stacked = torch.stack([state[name] for state in states])
            if self.channels_last and len(shape) == 4:
                stacked = stacked.movedim(2, -1)
            flat = stacked.reshape(len(states), -1)
            pieces.append(pad(flat, (0, -flat.shape[1] % _ALIGNMENT)))
        return torch.cat(pieces, 1)

    def unpack(self, vectors: Tensor) -> dict[str, Tensor]:
        """[K, length] → views [K, ...] by name; copies of parameters that have another dtype."""
        views = self._views(vectors, channels_last=self.channels_last)
        return {name: view.to(self._types[name]) for name, view in views.items()}

    def _views(self, vectors: Tensor, *, channels_last: bool) -> dict[str, Tensor]:
        sizes = [math.prod(shape) for shape in self._shapes.values()]
        # One split, because its gradient is one concatenation. The gradient of a slice is a full vector.
        pieces = torch.split(vectors, [n for size in sizes for n in (size, -size % _ALIGNMENT)], 1)[::2]
        views = {}
        for (name, shape), piece in zip(self._shapes.items(), pieces, strict=True):
            if channels_last and len(shape) == 4:
                outputs, inputs, *window = shape
                views[name] = piece.view(len(piece), outputs, *window, inputs).movedim(-1, 2)
            else:
                views[name] = piece.view(len(piece), *shape)
        return views

    def reordered(self, vector: Tensor, channels_last: bool) -> Tensor:
        """Convert a vector [length] that was packed with this `channels_last`, maybe on another device."""
        if channels_last == self.channels_last:
            return vector
        views = self._views(vector[None], channels_last=channels_last)
        return self.pack([{name: view[0] for name, view in views.items()}])[0]


State = Mapping[str, Tensor]
"""A state dict; stacked [K, ...] in this module."""

Rows = Sequence[int] | slice
"""Some of the rows. A slice gives views, a list copies."""


class NetworkStack:
    """Stacked tensors of K networks. Rows never mix: each has its own batch and its own gradient."""

    def __init__(
        self,
        module: nn.Module,
        states: Sequence[State],
        optimiser: Optimiser,
        device: torch.device,
        forward: Forward,
    ) -> None:
        """`forward` is a layout of `module`, see `noiselimit.engine.layouts`."""
        learned = {name: tensor for name, tensor in module.named_parameters() if tensor.requires_grad}
        given = {name for name, _ in module.named_parameters()} - set(learned)
        self.packing = Packing(learned, channels_last=device.type == "cuda")
        self.frozen = {name: _shared([state[name] for state in states]).to(device) for name in given}
        """Parameters that do not learn: [1, ...] if they are the same in all rows, else [K, ...]."""
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
        self.uses_dropout = any(isinstance(layer, Dropout) for layer in module.modules())
        self._forward = forward

    def __len__(self) -> int:
        return len(self.weights)

    def train(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """[K, B, ...] → logits [K, B, C], features [K, B, F], in training mode."""
        parameters = self.packing.unpack(self.weights)
        return self._forward(parameters, self.buffers | self._frozen_rows(slice(None)), inputs, True)

    @torch.no_grad()
    def logits(self, inputs: Tensor, rows: Rows, *, best: bool = False) -> Tensor:
        """[k, B, ...] → [k, B, C] of these rows in evaluation mode, with current or best weights."""
        weights, buffers = (self.best_weights, self.best_buffers) if best else (self.weights, self.buffers)
        parameters = self.packing.unpack(weights[rows])
        buffers = {name: tensor[rows] for name, tensor in buffers.items()}
        return self._forward(parameters, buffers | self._frozen_rows(rows), inputs, False)[0]

    @torch.no_grad()
    def update(self, gradients: Tensor, rates: Rates) -> None:
        """Take an optimiser step."""
        self.optimiser.update(self.weights, gradients, self.moments, rates)

    @torch.no_grad()
    def finite(self) -> Tensor:
        """bool [K]: whether all weights of the row are finite."""
        return self.weights.isfinite().all(1)

    @torch.no_grad()
    def save_best(self, rows: Sequence[int]) -> None:
        """Make the current weights of these rows their best ones."""
        self.best_weights[rows] = self.weights[rows]
        for name, best in self.best_buffers.items():
            best[rows] = self.buffers[name][rows]

    @torch.no_grad()
    def select(self, rows: Sequence[int]) -> None:
        """Drop all other rows."""
        self.weights = self.weights.detach()[rows].requires_grad_()
        self.best_weights = self.best_weights[rows]
        self.buffers = {name: tensor[rows] for name, tensor in self.buffers.items()}
        self.best_buffers = {name: tensor[rows] for name, tensor in self.best_buffers.items()}
        self.frozen = {name: t[rows] if len(t) > 1 else t for name, t in self.frozen.items()}
        self.moments = {part: tensor[rows] for part, tensor in self.moments.items()}

    def state(self) -> dict[str, Tensor]:
        """The live tensors [K, ...] of all that training changes, by name."""
        return {
            "weights": self.weights.detach(),
            "best_weights": self.best_weights,
            **{f"moments.{part}": tensor for part, tensor in self.moments.items()},
            **{f"buffers.{name}": tensor for name, tensor in self.buffers.items()},
            **{f"best_buffers.{name}": tensor for name, tensor in self.best_buffers.items()},
        }

    def from_saved(self, name: str, saved: Tensor, channels_last: bool) -> Tensor:
        """A row's saved tensor of this name in `state`, in the order in which it is stored here."""
        packed = name.partition(".")[0] in ("weights", "best_weights", "moments")
        return self.packing.reordered(saved, channels_last) if packed else saved

    def best_state(self, row: int) -> State:
        """The row's best weights and statistics as an ordinary state dict on the CPU."""
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
    """[1, ...] if all tensors are equal, else all of them stacked."""
    same = all(torch.equal(tensor, tensors[0]) for tensor in tensors)
    return tensors[0].unsqueeze(0).clone() if same else torch.stack(list(tensors))

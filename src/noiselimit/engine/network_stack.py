"""K networks of one architecture: stacked weights, statistics, optimiser state and best epoch of each row."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from noiselimit.engine.layouts import Forward
from noiselimit.engine.optimisers import Optimiser, Rates
from noiselimit.networks.network import uses_dropout

_ALIGNMENT = 64
"""Every parameter starts at a multiple of this many values, so arithmetic is the same in every row."""


@dataclass(frozen=True)
class Place:
    """Where and how a parameter is stored in the vector."""

    name: str
    shape: tuple[int, ...]
    channels_last: bool
    """Whether a convolution's [outputs, inputs, height, width] is stored with its inputs innermost."""
    dtype: torch.dtype = torch.float32

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of values, and of zeros after them."""
        size = math.prod(self.shape)
        return size, -size % _ALIGNMENT

    def flat(self, tensors: Tensor) -> Tensor:
        """[K, *shape] → [K, size]."""
        return (tensors.movedim(2, -1) if self.channels_last else tensors).reshape(len(tensors), -1)

    def shaped(self, flat: Tensor) -> Tensor:
        """[K, size] → a view [K, *shape] (a copy if the vector has another dtype)."""
        flat = flat.to(self.dtype)
        if not self.channels_last:
            return flat.view(len(flat), *self.shape)
        outputs, inputs, height, width = self.shape
        return flat.view(len(flat), outputs, height, width, inputs).movedim(-1, 2)


@dataclass(frozen=True)
class Packing:
    """Packs named parameters into one vector per row, and unpacks them."""

    places: tuple[Place, ...]

    @classmethod
    def of(cls, parameters: Mapping[str, Tensor], *, channels_last: bool = False) -> "Packing":
        """`channels_last` stores the weights of convolutions as is fastest on a GPU."""
        return cls(
            tuple(
                Place(name, tuple(tensor.shape), channels_last and tensor.dim() == 4, tensor.dtype)
                for name, tensor in parameters.items()
            )
        )

    @property
    def channels_last(self) -> bool:
        """Whether any weights are stored so."""
        return any(place.channels_last for place in self.places)

    def reordered(self, vector: Tensor, channels_last: bool) -> Tensor:
        """Convert a vector [length] that was packed with this `channels_last`, maybe on another device."""
        if channels_last == self.channels_last:
            return vector
        other = Packing(
            tuple(
                replace(place, channels_last=channels_last and len(place.shape) == 4, dtype=vector.dtype)
                for place in self.places
            )
        )
        return self.pack([{name: row[0] for name, row in other.unpack(vector[None]).items()}])[0]

    def pack(self, states: Sequence[Mapping[str, Tensor]]) -> Tensor:
        """K state dicts → [K, length], with zeros between parameters."""
        pieces = [torch.zeros(len(states), 0)]
        for place in self.places:
            flat = place.flat(torch.stack([state[place.name] for state in states]))
            pieces += [flat, flat.new_zeros(len(states), place.sizes[1])]
        return torch.cat(pieces, 1)

    def unpack(self, vectors: Tensor) -> dict[str, Tensor]:
        """[K, length] → views [K, ...] by name.

        One split, because its gradient is one concatenation. The gradient of a slice is a full vector.
        """
        pieces = torch.split(vectors, [size for place in self.places for size in place.sizes], 1)[::2]
        return {place.name: place.shaped(piece) for place, piece in zip(self.places, pieces, strict=True)}


State = Mapping[str, Tensor]
"""A state dict; stacked [K, ...] in this module."""

Rows = Sequence[int] | slice
"""Some of the rows. A slice gives views, a list copies."""


class NetworkRows:
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
        self.packing = Packing.of(learned, channels_last=device.type == "cuda")
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
        self.uses_dropout = uses_dropout(module)
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

"""K networks of one architecture, with each row's weights, statistics, optimiser state and best epoch."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from noiselimit.engine.layouts import Forward
from noiselimit.engine.optimisers import Optimiser, Rates
from noiselimit.networks.network import uses_dropout

_ALIGNMENT = 64
"""Every parameter begins at a multiple of this many values, so that rows look alike wherever they lie."""


@dataclass(frozen=True)
class Place:
    """Where a parameter stands in the vector."""

    name: str
    shape: tuple[int, ...]
    channels_last: bool
    """Whether a convolution's [outputs, inputs, height, width] is stored with its inputs innermost."""
    dtype: torch.dtype = torch.float32

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def padding(self) -> int:
        return -self.size % _ALIGNMENT

    def flat(self, tensors: Tensor) -> Tensor:
        """[K, *shape] → [K, size], in the order of storage."""
        return (tensors.movedim(2, -1) if self.channels_last else tensors).reshape(len(tensors), -1)

    def shaped(self, flat: Tensor) -> Tensor:
        """[K, size] → a view [K, *shape] (a copy where the parameter has another type than the vector)."""
        flat = flat.to(self.dtype)
        if not self.channels_last:
            return flat.view(len(flat), *self.shape)
        outputs, inputs, height, width = self.shape
        return flat.view(len(flat), outputs, height, width, inputs).movedim(-1, 2)


@dataclass(frozen=True)
class Packing:
    """How named parameters become a vector and come back."""

    places: tuple[Place, ...]

    @classmethod
    def of(cls, parameters: Mapping[str, Tensor], *, channels_last: bool = False) -> "Packing":
        """`channels_last` stores the weights of convolutions as a GPU's convolutions like them."""
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
        """A vector [length] in which convolutions are stored in the one order or the other, in this one's."""
        if channels_last == self.channels_last:
            return vector
        sizes = [size for place in self.places for size in (place.size, place.padding)]
        pieces = list(torch.split(vector, sizes))
        for number, place in enumerate(self.places):
            if len(place.shape) == 4:
                outputs, inputs, height, width = place.shape
                if channels_last:
                    weights = pieces[2 * number].view(outputs, height, width, inputs).movedim(-1, 1)
                else:
                    weights = pieces[2 * number].view(place.shape).movedim(1, -1)
                pieces[2 * number] = weights.reshape(-1)
        return torch.cat(pieces)

    def pack(self, states: Sequence[Mapping[str, Tensor]]) -> Tensor:
        """K state dicts → [K, length]; what stands between parameters is zero."""
        pieces = [torch.zeros(len(states), 0)]
        for place in self.places:
            flat = place.flat(torch.stack([state[place.name] for state in states]))
            pieces += [flat, flat.new_zeros(len(states), place.padding)]
        return torch.cat(pieces, 1)

    def unpack(self, vectors: Tensor) -> dict[str, Tensor]:
        """[K, length] → views [K, ...] by name.

        All from one split, whose gradient is one concatenation: slices would each give a vector of zeros.
        """
        sizes = [size for place in self.places for size in (place.size, place.padding)]
        pieces = torch.split(vectors, sizes, 1)[::2]
        return {place.name: place.shaped(piece) for place, piece in zip(self.places, pieces, strict=True)}


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
        self.drops_units = uses_dropout(module)
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

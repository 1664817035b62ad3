"""All learned parameters of a network in one vector per row: one leaf to differentiate, one step to take."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

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

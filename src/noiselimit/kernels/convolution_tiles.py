"""The sizes of a convolution, and the tiles its products are cut into.

Tiles follow from shapes by rule: searching for them at run time costs more than it brings, and a few shapes
make few compilations.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Geometry:
    """The sizes of a convolution that kernels are compiled for; the number of rows and the batch are not."""

    CI: int
    CO: int
    KH: int
    KW: int
    S: int
    P: int
    H: int
    W: int
    OH: int
    OW: int

    @property
    def columns(self) -> int:
        return self.KH * self.KW * self.CI

    @property
    def covers(self) -> bool:
        """One output per picture, from all of it."""
        return self.KH == self.H and self.KW == self.W and self.P == 0


@dataclass(frozen=True)
class Tile:
    """A product's tile: BM outputs or pixels, BN channels, BK columns of the patch matrix."""

    BM: int
    BN: int
    BK: int
    num_warps: int
    num_stages: int


def geometry(x: Tensor, weight: Tensor, stride: int, padding: int) -> Geometry:
    """The sizes of `convolve(x, weight, stride, padding)`."""
    rows, batch, height, width, channels = x.shape
    if weight.shape[:1] + weight.shape[2:3] != (rows, channels):
        raise ValueError(f"weights {tuple(weight.shape)} do not fit inputs {tuple(x.shape)}")
    _, outputs, _, down, across = weight.shape
    oh, ow = ((size + 2 * padding - k) // stride + 1 for size, k in ((height, down), (width, across)))
    largest = batch * max(height * width * channels, oh * ow * outputs)
    if min(oh, ow) < 1 or largest >= 2**31:  # offsets inside a row are 32 bits wide
        raise ValueError(f"inputs {tuple(x.shape)} are too small or too large for a {down} × {across} kernel")
    return Geometry(channels, outputs, down, across, stride, padding, height, width, oh, ow)


def power(value: int, most: int) -> int:
    """The power of two that holds `value`, between the 16 that tensor cores need and `most`."""
    return min(max(1 << (value - 1).bit_length(), 16), most)


def _tile(sizes: tuple[int, int, int], dtype: torch.dtype, stages: int = 3) -> Tile:
    """float32 has no tensor cores that keep its precision: more threads hold what would spill."""
    return Tile(*sizes, *((8, 2) if dtype == torch.float32 else (4, stages)))


# The rules were found by timing some 460 tiles on an H200: 80 networks, the MNIST layers, bfloat16.


def forward_tile(g: Geometry, dtype: torch.dtype) -> Tile:
    """A block of columns lies in one tap where there are channels enough for that."""
    return _tile((128, power(g.CO, 128), power(g.CI if g.CI >= 16 else g.columns, 64)), dtype)


def input_gradient_tile(g: Geometry, dtype: torch.dtype) -> Tile:
    columns = power(g.CO, 64)
    return _tile((128, power(g.CI, 128), columns), dtype, stages=3 if columns < 64 else 2)


def weight_gradient_tile(g: Geometry, dtype: torch.dtype) -> Tile:
    outputs = 128 if g.CO <= 32 or g.columns <= 64 else 64
    return _tile((outputs, power(g.CO, 64), power(g.columns, 64)), dtype)

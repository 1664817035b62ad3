"""Convolution of R independent networks at once, channels last, without materialised patches.

Bytes decide: the layers of small networks do little arithmetic per byte, and an unfolded input is four to
nine times the input. `convolution_products` gathers patches tile by tile inside the matrix product instead,
so that each activation crosses the memory bus about once per product. A kernel that covers its whole input
has no patches to share, and is an ordinary batched product.
"""

from dataclasses import asdict
from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd.function import once_differentiable

from noiselimit.kernels.convolution_products import (
    forward_kernel,
    input_gradient_kernel,
    weight_gradient_kernel,
)
from noiselimit.kernels.convolution_tiles import (
    Geometry,
    Tile,
    forward_tile,
    geometry,
    input_gradient_tile,
    weight_gradient_tile,
)
from noiselimit.kernels.launch import launch

PROGRAMS_PER_CORE = 4  # of the gradient of the weights: enough loads in flight, few partial sums


def pack(weight: Tensor, dtype: torch.dtype) -> Tensor:
    """[R, CO, KH, KW, CI] without gaps from [R, CO, CI, KH, KW] of any strides, in one copy."""
    ordered = weight.permute(0, 1, 3, 4, 2)
    return torch.empty(ordered.shape, dtype=dtype, device=weight.device).copy_(ordered)


def forward(
    x: Tensor, packed: Tensor, g: Geometry, tile: Tile, statistics: bool = False
) -> tuple[Tensor, Tensor | None]:
    """y [R, B, OH, OW, CO] and, if asked for, statistics of its tiles: float32 [3, R, tiles, CO]."""
    rows, batch = x.shape[:2]
    y = x.new_empty(rows, batch, g.OH, g.OW, g.CO)
    tiles = triton.cdiv(batch * g.OH * g.OW, tile.BM)
    partial = x.new_empty((3, rows, tiles, g.CO), dtype=torch.float32) if statistics else None
    grid = (tiles, triton.cdiv(g.CO, tile.BN), rows)
    launch(forward_kernel, grid, x, packed, y, partial, batch, statistics, **asdict(g), **asdict(tile))
    return y, partial


def input_gradient(dy: Tensor, packed: Tensor, g: Geometry, tile: Tile) -> Tensor:
    """[R, B, H, W, CI]."""
    rows, batch = dy.shape[:2]
    dx = dy.new_empty(rows, batch, g.H, g.W, g.CI)
    pixels = batch * triton.cdiv(g.H, g.S) * triton.cdiv(g.W, g.S)
    grid = (triton.cdiv(pixels, tile.BM) * g.S**2, triton.cdiv(g.CI, tile.BN), rows)
    launch(input_gradient_kernel, grid, dy, packed, dx, batch, **asdict(g), **asdict(tile))
    return dx


def _splits(device: torch.device, tiles: int, programs: int) -> int:
    """Into how many chunks to cut the sum over `tiles` tiles, so that every multiprocessor has its programs.

    Each chunk keeps at least two tiles: partial sums are traffic as well.
    """
    cores = torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1
    return max(1, min(-(-PROGRAMS_PER_CORE * cores // programs), tiles // 2))


def weight_gradient(x: Tensor, dy: Tensor, g: Geometry, tile: Tile, splits: int | None = None) -> Tensor:
    """float32 [R, CO, KH, KW, CI]."""
    rows, batch = x.shape[:2]
    tiles = triton.cdiv(batch * g.OH * g.OW, tile.BM)
    blocks = triton.cdiv(g.columns, tile.BK) * triton.cdiv(g.CO, tile.BN)
    splits = splits or _splits(x.device, tiles, rows * blocks)
    partial = torch.empty(rows, splits, g.CO, g.KH, g.KW, g.CI, dtype=torch.float32, device=x.device)
    chunk = triton.cdiv(tiles, splits) * tile.BM
    grid = (blocks, splits, rows)
    launch(weight_gradient_kernel, grid, x, dy, partial, batch, chunk, **asdict(g), **asdict(tile))
    return partial.sum(1) if splits > 1 else partial[:, 0]


def _float32_product(a: Tensor, b: Tensor) -> Tensor:
    """a @ b in float32, of bfloat16 factors too, where the device can: on the GPU their sums are float32."""
    if a.is_cuda and a.dtype != torch.float32:
        return torch.bmm(a, b, out_dtype=torch.float32)
    return torch.bmm(a, b).float()


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, stride: int, padding: int, statistics: bool
    ) -> tuple[Tensor, Tensor | None]:
        g = geometry(x, weight, stride, padding)
        x = x.contiguous()
        packed = pack(weight, x.dtype)
        ctx.save_for_backward(x, packed)
        ctx.geometry = g
        if g.covers:
            return torch.bmm(x.flatten(2), packed.flatten(2).mT)[:, :, None, None], None
        y, partial = forward(x, packed, g, forward_tile(g, x.dtype), statistics)
        if partial is not None:
            ctx.mark_non_differentiable(partial)
            ctx.set_materialize_grads(False)  # a gradient of zeros for them would be one more launch
        return y, partial

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor | None, _: None) -> tuple[Tensor | None, ...]:
        if dy is None:  # nothing downstream depends on y
            return (None,) * 5
        x, packed = ctx.saved_tensors
        g: Geometry = ctx.geometry
        dy = dy.contiguous()
        dx = dw = None
        if ctx.needs_input_grad[0]:
            if g.covers:
                dx = torch.bmm(dy.flatten(2), packed.flatten(2)).view(x.shape)
            else:
                dx = input_gradient(dy, packed, g, input_gradient_tile(g, x.dtype))
        if ctx.needs_input_grad[1]:
            if g.covers:
                dw = _float32_product(dy.flatten(2).mT, x.flatten(2)).view(packed.shape)
            else:
                dw = weight_gradient(x, dy, g, weight_gradient_tile(g, x.dtype))
            dw = dw.permute(0, 1, 4, 2, 3)
        return dx, dw, None, None, None


def convolve(x: Tensor, weight: Tensor, stride: int, padding: int) -> Tensor:
    """[R, B, OH, OW, CO]: row r of the result is row r of x convolved with row r of the weights.

    x is [R, B, H, W, CI]; weight is float32 [R, CO, CI, KH, KW] of any strides, best with the channels last
    inside a row; the picture is surrounded by `padding` zeros. The result has the dtype of x, products are
    summed in float32, and the gradient of the weights is float32 with its channels last in memory.
    """
    y: Tensor = _Convolution.apply(x, weight, stride, padding, False)[0]  # type: ignore[no-untyped-call]
    return y


def convolve_with_statistics(
    x: Tensor, weight: Tensor, stride: int, padding: int
) -> tuple[Tensor, Tensor | None]:
    """`convolve`'s result and, for `normalise`, the statistics of its chunks: float32 [3, R, chunks, CO].

    These are count, mean and sum of squared deviations of the values as stored; no gradient flows through
    them, since that of batch-norm accounts for its statistics. None where the kernel covers the whole input:
    so small a result is quickly read again.
    """
    return _Convolution.apply(x, weight, stride, padding, True)  # type: ignore[no-any-return, no-untyped-call]

"""relu(batch-norm(x) + shortcut) of R independent networks at once, in as few bytes as it takes.

x is [R, M, C]: R networks, M = batch·height·width positions, C channels, channels last. Such a layer is bound
by memory alone, so what counts is how often a tensor of x's size is read or written (a unit):

                           first pass           second pass
    forward                x                    x → out              3 units
    with shortcut          x                    x, shortcut → out    4 units
    backward               g, x                 g, x → dx            5 units
    with shortcut          g, x, out → dz       dz, x → dx           7 units

Where the convolution before it has left statistics of its tiles, the forward saves its first pass.

dz = g·1[out > 0] is the gradient before the ReLU. Without shortcut its mask is recomputed from x, which is
read anyway. With one, `out` alone says what x and the shortcut would say together; and dz, which is the
shortcut's gradient, is written by the first pass, since the second then reads it instead of g and out:
7 units, not 8.

The first pass goes through the tiles with a stride of all its programs, so that it sweeps the memory from
front to back; the second goes from back to front and finds the end of x still in the L2 cache. Partial
results go to a buffer that a small kernel reduces in a fixed order: no atomics, the same bits each time.
"""

from typing import Any

import torch
import triton
from torch import Tensor

from noiselimit.kernels.launch import launch
from noiselimit.kernels.normalisation_backward import finish_sums, input_gradient, masked_sums
from noiselimit.kernels.normalisation_forward import finish_statistics, normalise_tiles, statistics

TILE = 4096  # elements of a tile: 32 a thread, which are four loads of 16 bytes in flight in bfloat16
WARPS = 4
# Programs of a first pass: as many as the 132 multiprocessors of an H200 have registers for at once.
STATISTICS_PROGRAMS, SUMS_PROGRAMS = 4 * 132, 3 * 132
MERGED_CHUNKS, MERGED_CHANNELS = 256, 8  # tile of the kernels that reduce partial results


class _Plan:
    """Sizes and grids for a tensor like x; tiles are 16 to 64 channels wide: few compilations serve all."""

    def __init__(self, x: Tensor, programs: int) -> None:
        self.rows, self.positions, self.channels = x.shape
        width = min(64, max(16, triton.next_power_of_2(self.channels)))
        lanes = TILE // width
        blocks = triton.cdiv(self.channels, width)
        tiles = triton.cdiv(self.positions, lanes)
        self.chunks = min(tiles, triton.cdiv(programs, self.rows * blocks))
        self.first_pass = (self.chunks * blocks, self.rows)
        self.merging = (triton.cdiv(self.channels, MERGED_CHANNELS), self.rows)
        self.second_pass = (tiles * blocks, self.rows)
        self.tile: dict[str, int] = {"lanes": lanes, "width": width, "num_warps": WARPS}
        self.merged: dict[str, int] = {"depth": MERGED_CHUNKS, "width": MERGED_CHANNELS, "num_warps": WARPS}

    def buffer(self, x: Tensor, planes: int, *chunks: int) -> Tensor:
        """Uninitialised float32 [planes, R, (chunks,) C]."""
        return x.new_empty((planes, self.rows, *chunks, self.channels), dtype=torch.float32)


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        shortcut: Tensor | None,
        partial: Tensor | None,
        running: tuple[Tensor, Tensor],
        eps: float,
        momentum: float,
        training: bool,
        floor: float,
    ) -> Tensor:
        plan = _Plan(x, STATISTICS_PROGRAMS)
        sizes = (plan.positions, plan.channels)
        saved = plan.buffer(x, 3)  # mean, 1/√(variance + eps), weight/√(variance + eps)
        if not training:
            partial = saved  # for the running statistics are used
        elif partial is None:
            partial = plan.buffer(x, 3, plan.chunks)
            launch(statistics, plan.first_pass, x, partial, *sizes, plan.chunks, **plan.tile)
        bessel = plan.positions / max(plan.positions - 1, 1)
        strides = (weight.stride(0), running[0].stride(0), running[1].stride(0))
        launch(
            finish_statistics, plan.merging, partial, weight, *running, saved, plan.channels,
            partial.shape[2], *strides, eps, momentum, bessel, training, **plan.merged,
        )  # fmt: skip
        out = torch.empty_like(x)
        launch(
            normalise_tiles, plan.second_pass, x, shortcut, out, saved, bias, *sizes, bias.stride(0), floor,
            **plan.tile,
        )  # fmt: skip
        ctx.save_for_backward(x, bias, saved, None if shortcut is None else out)
        ctx.share, ctx.floor = 1 / plan.positions if training else 0.0, floor
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, bias, saved, out = ctx.saved_tensors
        g = gradients[0].contiguous()
        plan = _Plan(x, SUMS_PROGRAMS)
        sizes = (plan.positions, plan.channels)
        partial, sums = plan.buffer(x, 2, plan.chunks), plan.buffer(x, 2)
        dz = None if out is None else torch.empty_like(x)
        launch(
            masked_sums, plan.first_pass, g, x, out, dz, saved, bias, partial, *sizes, plan.chunks,
            bias.stride(0), ctx.floor, **plan.tile,
        )  # fmt: skip
        launch(finish_sums, plan.merging, partial, saved, sums, plan.channels, plan.chunks, **plan.merged)
        dx = torch.empty_like(x)
        launch(
            input_gradient, plan.second_pass, g if dz is None else dz, x, dx, saved, bias, sums, *sizes,
            bias.stride(0), ctx.floor, ctx.share, dz is None, **plan.tile,
        )  # fmt: skip
        return dx, sums[0], sums[1], dz, None, None, None, None, None, None


def normalise(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    *,
    eps: float,
    momentum: float,
    training: bool,
    shortcut: Tensor | None = None,
    relu: bool = True,
    partial: Tensor | None = None,
) -> Tensor:
    """relu(batch-norm(x) + shortcut), [R, M, C] in x's type; the ReLU and the shortcut may be left out.

    x and shortcut are contiguous [R, M, C] of one type; the others float32 [R, C], whose rows may lie apart.
    In training the statistics are those of the M positions, and the running ones are updated in place as
    torch does it: (1 − momentum)·old + momentum·new, with the unbiased variance. Else the running ones are
    used. `partial`, contiguous float32 [3, R, chunks, C], may bring the statistics of chunks that together
    are the M positions (count, mean, sum of squared deviations); then x is not read for them.
    """
    if x.ndim != 3 or not x.is_contiguous():
        raise ValueError(f"x must be contiguous [R, M, C], not {tuple(x.shape)} with strides {x.stride()}")
    like_x = shortcut is None or (shortcut.shape == x.shape and shortcut.dtype == x.dtype)
    if shortcut is not None and not (like_x and shortcut.is_contiguous()):
        raise ValueError("the shortcut must be contiguous and have the shape and type of x")
    for vector in (weight, bias, running_mean, running_var):
        if vector.shape != (x.shape[0], x.shape[2]) or vector.dtype != torch.float32 or vector.stride(1) != 1:
            raise ValueError(
                "weight, bias and running statistics must be float32 [R, C] with contiguous rows"
            )
    if partial is not None and not (
        partial.ndim == 4
        and (*partial.shape[:2], partial.shape[3]) == (3, x.shape[0], x.shape[2])
        and partial.dtype == torch.float32
        and partial.is_contiguous()
    ):
        raise ValueError("partial statistics must be contiguous float32 [3, R, chunks, C]")
    if training and x.shape[1] < 2:
        raise ValueError("batch statistics need more than one position")
    floor = 0.0 if relu else -torch.inf
    return _Normalise.apply(  # type: ignore[no-any-return, no-untyped-call]
        x, weight, bias, shortcut, partial, (running_mean, running_var), eps, momentum, training, floor
    )

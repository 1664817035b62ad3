"""relu(batch-norm(x) + shortcut) of R independent networks at once, with little memory traffic.

x is [R, M, C]: R networks, M = batch·height·width positions, C channels, channels last. Such a layer is bound
by memory, so what counts is how often a tensor of x's size is read or written (a unit):

                           first pass           second pass
    forward                x                    x → out              3 units
    with shortcut          x                    x, shortcut → out    4 units
    backward               g, x                 g, x → dx            5 units
    with shortcut          g, x, out → dz       dz, x → dx           7 units

If the convolution before it returned statistics of its tiles, the forward needs no first pass.

dz = g·1[out > 0] is the gradient before the ReLU. Without shortcut, its mask is recomputed from x, which is
read anyway. With a shortcut, the mask is read from `out`, and the first pass writes dz, the shortcut's
gradient, so that the second pass reads dz instead of g and out: 7 units, not 8.

The first pass sweeps the memory from front to back. The second goes from back to front and finds the end of x
still in the L2 cache. A small kernel reduces partial results in a fixed order: no atomics, the same bits each
time.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from noiselimit.engine.kernels.launch import launch

# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False
# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False


# Arguments that vary from call to call: one compilation serves them all.
_VARYING = ["positions", "chunks", "weight_stride", "bias_stride", "mean_stride", "var_stride"]
_UNALIGNED = ["weight", "bias", "running_mean", "running_var"]  # rows of larger vectors, at any address
jit: Any = triton.jit(do_not_specialize=_VARYING, do_not_specialize_on_alignment=_UNALIGNED)


@jit
def place(row, tile, channel, positions, channels, lanes: tl.constexpr):
    """A tile of a tensor like x: (its start, offsets [lanes, width], which of them exist)."""
    lane = tl.arange(0, lanes)
    inside = (tile * lanes + lane < positions)[:, None] & (channel < channels)[None, :]
    start = (row * positions + tile * lanes) * channels
    return start, lane[:, None] * channels + channel[None, :], inside


@jit
def merge(count, mean, squares):
    """Merge the statistics of several sets (axis 0), [width]; sets may be empty."""
    total = tl.sum(count, axis=0)
    centre = tl.sum(count * mean, axis=0) / tl.maximum(total, 1.0)
    deviation = mean - centre[None, :]
    return total, centre, tl.sum(squares + count * deviation * deviation, axis=0)


@jit
def normalised(x, mean, scale, bias):
    """Batch-norm of a tile. The mean is subtracted first, because scale·x + shift would cancel."""
    return (x - mean[None, :]) * scale[None, :] + bias[None, :]


@jit
def statistics(x, partial, positions, channels, chunks, lanes: tl.constexpr, width: tl.constexpr):
    """(1) Count, mean and sum of squared deviations of every `chunks`-th tile → partial [3, R, chunks, C].

    Each element of the tile keeps its own running statistics (Welford); they are merged once, at the end.
    """
    blocks = tl.cdiv(channels, width)
    chunk, row = tl.program_id(0) // blocks, tl.program_id(1).to(tl.int64)
    channel = (tl.program_id(0) % blocks) * width + tl.arange(0, width)
    mean = tl.zeros([lanes, width], tl.float32)
    squares = tl.zeros([lanes, width], tl.float32)
    seen = 0.0
    for tile in range(chunk, tl.cdiv(positions, lanes), chunks):
        start, offset, inside = place(row, tile, channel, positions, channels, lanes)
        value = tl.load(x + start + offset, inside, 0.0).to(tl.float32)
        seen += 1.0
        deviation = tl.where(inside, value - mean, 0.0)
        mean += deviation * (1.0 / seen)
        squares += deviation * (value - mean)
    tiles = tl.cdiv(positions - tl.arange(0, lanes), lanes)  # of this lane, over all chunks
    count = tl.cdiv(tl.maximum(tiles - chunk, 0), chunks).to(tl.float32)
    total, centre, spread = merge(count[:, None] + tl.zeros([lanes, width], tl.float32), mean, squares)
    plane = tl.num_programs(1) * chunks * channels
    target = partial + (row * chunks + chunk) * channels + channel
    tl.store(target, total, channel < channels)
    tl.store(target + plane, centre, channel < channels)
    tl.store(target + 2 * plane, spread, channel < channels)


@jit
def finish_statistics(
    partial, weight, running_mean, running_var, saved, channels, chunks, weight_stride, mean_stride,
    var_stride, eps, momentum, bessel, training: tl.constexpr, depth: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    """(2) Merge the chunks (Chan) → saved [3, R, C]: mean, 1/√(variance + eps), weight times that.

    Updates the running statistics in training and reads them otherwise.
    """
    row = tl.program_id(1).to(tl.int64)
    channel = tl.program_id(0) * width + tl.arange(0, width)
    real = channel < channels
    running_mean += row * mean_stride + channel
    running_var += row * var_stride + channel
    mean = tl.load(running_mean, real, 0.0)
    variance = tl.load(running_var, real, 1.0)
    if training:
        plane = tl.num_programs(1) * chunks * channels
        count = tl.zeros([depth, width], tl.float32)
        centre = tl.zeros([depth, width], tl.float32)
        squares = tl.zeros([depth, width], tl.float32)
        for first in range(0, chunks, depth):
            chunk = first + tl.arange(0, depth)
            inside = (chunk < chunks)[:, None] & real[None, :]
            source = partial + (row * chunks + chunk)[:, None] * channels + channel[None, :]
            more = tl.load(source, inside, 0.0)
            deviation = tl.load(source + plane, inside, 0.0) - centre
            share = more / tl.maximum(count + more, 1.0)
            centre += deviation * share
            squares += tl.load(source + 2 * plane, inside, 0.0) + deviation * deviation * share * count
            count += more
        total, batch_mean, spread = merge(count, centre, squares)
        batch_variance = spread / tl.maximum(total, 1.0)
        tl.store(running_mean, mean + momentum * (batch_mean - mean), real)
        tl.store(running_var, variance + momentum * (batch_variance * bessel - variance), real)
        mean, variance = batch_mean, batch_variance
    rstd = tl.rsqrt(variance + eps)
    target = saved + row * channels + channel
    plane = tl.num_programs(1) * channels
    tl.store(target, mean, real)
    tl.store(target + plane, rstd, real)
    tl.store(target + 2 * plane, rstd * tl.load(weight + row * weight_stride + channel, real, 0.0), real)


@jit
def normalise_tiles(
    x, shortcut, out, saved, bias, positions, channels, bias_stride, floor,
    lanes: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    """(3) out = max(batch-norm(x) + shortcut, floor), one tile a program, from the back to the front.

    floor is 0, or −∞ for no ReLU. NaN stays NaN.
    """
    blocks, program = tl.cdiv(channels, width), tl.num_programs(0) - 1 - tl.program_id(0)
    row = tl.num_programs(1) - 1 - tl.program_id(1).to(tl.int64)
    channel = (program % blocks) * width + tl.arange(0, width)
    real = channel < channels
    start, offset, inside = place(row, program // blocks, channel, positions, channels, lanes)
    value = tl.load(x + start + offset, inside, 0.0).to(tl.float32)
    mean = tl.load(saved + row * channels + channel, real, 0.0)
    scale = tl.load(saved + (2 * tl.num_programs(1) + row) * channels + channel, real, 0.0)
    value = normalised(value, mean, scale, tl.load(bias + row * bias_stride + channel, real, 0.0))
    if shortcut is not None:
        value += tl.load(shortcut + start + offset, inside, 0.0).to(tl.float32)
    value = tl.where(value <= floor, floor, value)
    tl.store(out + start + offset, value.to(out.dtype.element_ty), inside)


@jit
def masked_sums(
    g, x, out, dz, saved, bias, partial, positions, channels, chunks, bias_stride, floor,
    lanes: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    """(4) Σ dz and Σ dz·(x − mean) of every `chunks`-th tile → partial [2, R, chunks, C]; dz if given."""
    blocks = tl.cdiv(channels, width)
    chunk, row = tl.program_id(0) // blocks, tl.program_id(1).to(tl.int64)
    channel = (tl.program_id(0) % blocks) * width + tl.arange(0, width)
    real = channel < channels
    mean = tl.load(saved + row * channels + channel, real, 0.0)
    scale = tl.load(saved + (2 * tl.num_programs(1) + row) * channels + channel, real, 0.0)
    shift = tl.load(bias + row * bias_stride + channel, real, 0.0)
    plain = tl.zeros([lanes, width], tl.float32)
    weighted = tl.zeros([lanes, width], tl.float32)
    for tile in range(chunk, tl.cdiv(positions, lanes), chunks):
        start, offset, inside = place(row, tile, channel, positions, channels, lanes)
        gradient = tl.load(g + start + offset, inside, 0.0)
        value = tl.load(x + start + offset, inside, 0.0).to(tl.float32)
        if out is not None:
            dropped = tl.load(out + start + offset, inside, 0.0).to(tl.float32) <= floor
        else:
            dropped = normalised(value, mean, scale, shift) <= floor
        gradient = tl.where(dropped, 0.0, gradient)
        if dz is not None:
            tl.store(dz + start + offset, gradient, inside)
        gradient = gradient.to(tl.float32)
        plain += gradient
        weighted += gradient * (value - mean[None, :])
    target = partial + (row * chunks + chunk) * channels + channel
    tl.store(target, tl.sum(plain, axis=0), real)
    tl.store(target + tl.num_programs(1) * chunks * channels, tl.sum(weighted, axis=0), real)


@jit
def finish_sums(partial, saved, sums, channels, chunks, depth: tl.constexpr, width: tl.constexpr):
    """(5) Totals over the chunks → sums [2, R, C]: Σ dz·x̂ and Σ dz, the gradients of weight and bias."""
    row, rows = tl.program_id(1).to(tl.int64), tl.num_programs(1)
    channel = tl.program_id(0) * width + tl.arange(0, width)
    real = channel < channels
    plain = tl.zeros([depth, width], tl.float32)
    weighted = tl.zeros([depth, width], tl.float32)
    for first in range(0, chunks, depth):
        chunk = first + tl.arange(0, depth)
        inside = (chunk < chunks)[:, None] & real[None, :]
        source = partial + (row * chunks + chunk)[:, None] * channels + channel[None, :]
        plain += tl.load(source, inside, 0.0)
        weighted += tl.load(source + rows * chunks * channels, inside, 0.0)
    rstd = tl.load(saved + (rows + row) * channels + channel, real, 0.0)
    target = sums + row * channels + channel
    tl.store(target, tl.sum(weighted, axis=0) * rstd, real)
    tl.store(target + rows * channels, tl.sum(plain, axis=0), real)


@jit
def input_gradient(
    g, x, dx, saved, bias, sums, positions, channels, bias_stride, floor, share,
    masked: tl.constexpr, lanes: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    """(6) dx = scale·(dz − share·Σ dz − x̂·share·Σ dz·x̂), from the back to the front.

    g is dz unless `masked`; share is 1/M if the statistics depend on x, else 0.
    """
    blocks, program = tl.cdiv(channels, width), tl.num_programs(0) - 1 - tl.program_id(0)
    rows = tl.num_programs(1)
    row = rows - 1 - tl.program_id(1).to(tl.int64)
    channel = (program % blocks) * width + tl.arange(0, width)
    real = channel < channels
    start, offset, inside = place(row, program // blocks, channel, positions, channels, lanes)
    gradient = tl.load(g + start + offset, inside, 0.0).to(tl.float32)
    value = tl.load(x + start + offset, inside, 0.0).to(tl.float32)
    saved += row * channels + channel
    sums += row * channels + channel
    mean = tl.load(saved, real, 0.0)
    scale = tl.load(saved + 2 * rows * channels, real, 0.0)
    slope = share * tl.load(saved + rows * channels, real, 0.0) * tl.load(sums, real, 0.0)
    average = share * tl.load(sums + rows * channels, real, 0.0)
    if masked:
        shift = tl.load(bias + row * bias_stride + channel, real, 0.0)
        gradient = tl.where(normalised(value, mean, scale, shift) <= floor, 0.0, gradient)
    gradient = scale[None, :] * (gradient - average[None, :] - (value - mean[None, :]) * slope[None, :])
    tl.store(dx + start + offset, gradient.to(dx.dtype.element_ty), inside)


TILE = 4096  # elements: 32 per thread, four loads of 16 bytes in flight in bfloat16
WARPS = 4
# Programs of a first pass: as many as fit on the 132 multiprocessors of an H200.
STATISTICS_PROGRAMS, SUMS_PROGRAMS = 4 * 132, 3 * 132
MERGED_CHUNKS, MERGED_CHANNELS = 256, 8  # tile of the kernels that reduce partial results


class _Plan:
    """Sizes and grids for a tensor like x; tiles are 16 to 64 channels wide."""

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
            partial = saved  # not read: the running statistics are used
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
    """relu(batch-norm(x) + shortcut), [R, M, C] in x's type; ReLU and shortcut are optional.

    x and shortcut are contiguous [R, M, C] of one type; the others float32 [R, C] with any row stride. In
    training, the running statistics are updated in place as torch does. `partial`, contiguous float32
    [3, R, chunks, C], may give the statistics (count, mean, sum of squared deviations) of chunks that make up
    the M positions; x is then not read for them.
    """
    assert x.is_contiguous()
    assert shortcut is None or (shortcut.is_contiguous() and shortcut.dtype == x.dtype)
    assert partial is None or partial.is_contiguous()
    floor = 0.0 if relu else -torch.inf
    return _Normalise.apply(  # type: ignore[no-any-return]
        x, weight, bias, shortcut, partial, (running_mean, running_var), eps, momentum, training, floor
    )

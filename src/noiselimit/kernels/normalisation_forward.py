# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False
# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False
# (a kernel's arguments are pointers and numbers that Triton types by itself)
"""Batch-norm forward in three kernels: statistics of chunks, their union, and one pass that applies it."""

from typing import Any

import triton
import triton.language as tl

# Numbers that vary where the code need not: one compilation serves them all.
_VARYING = ["positions", "chunks", "weight_stride", "bias_stride", "mean_stride", "var_stride"]
_UNALIGNED = ["weight", "bias", "running_mean", "running_var"]  # rows of larger vectors, at any address
jit: Any = triton.jit(do_not_specialize=_VARYING, do_not_specialize_on_alignment=_UNALIGNED)


@jit
def place(row, tile, channel, positions, channels, lanes: tl.constexpr):
    """Where a tile lies in a tensor like x: (its start, offsets [lanes, width] from it, which exist)."""
    lane = tl.arange(0, lanes)
    inside = (tile * lanes + lane < positions)[:, None] & (channel < channels)[None, :]
    start = (row * positions + tile * lanes) * channels
    return start, lane[:, None] * channels + channel[None, :], inside


@jit
def merge(count, mean, squares):
    """Statistics of several sets (axis 0) as those of their union, [width]; an empty set counts nothing."""
    total = tl.sum(count, axis=0)
    centre = tl.sum(count * mean, axis=0) / tl.maximum(total, 1.0)
    deviation = mean - centre[None, :]
    return total, centre, tl.sum(squares + count * deviation * deviation, axis=0)


@jit
def normalised(x, mean, scale, bias):
    """Batch-norm of a tile. The mean goes first: scale·x + shift would cancel where it is large."""
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
    tiles = tl.cdiv(positions - tl.arange(0, lanes), lanes)  # that reach to this lane; ours are some of them
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

    floor is 0, or −∞ for no ReLU. NaN stays NaN, so that a failed network shows.
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

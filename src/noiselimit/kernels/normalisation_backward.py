# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False
# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False
# (a kernel's arguments are pointers and numbers that Triton types by itself)
"""Batch-norm backward in three kernels: sums over chunks, their totals, one pass for the gradient of x."""

import triton.language as tl

from noiselimit.kernels.normalisation_forward import jit, normalised, place


@jit
def masked_sums(
    g, x, out, dz, saved, bias, partial, positions, channels, chunks, bias_stride, floor,
    lanes: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    """(4) Σ dz and Σ dz·(x − mean) of every `chunks`-th tile → partial [2, R, chunks, C]; on demand, dz."""
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

    g is dz itself unless it is still to be masked; share is 1/M where the statistics depend on x, else 0.
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

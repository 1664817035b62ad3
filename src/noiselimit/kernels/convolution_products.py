# ruff: noqa: N803, N806
# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""The three products of a convolution over stacked networks, their patches gathered tile by tile.

With m = (example, y, x) over the outputs of a network and k = (ky, kx, channel) over the columns of a patch:
forward y[m, o] = Σ_k patch[m, k]·w[o, k], and its two gradients. A materialised patch matrix would be written
and read once per product, KH·KW/stride² times the bytes of the input; here a tile of it is gathered where it
is multiplied, and neighbouring patches find their shared pixels in the caches. Where the channels allow it, a
block of k lies in one tap; then the zeros around a picture cost one mask per output, not per element.

Every row (network) is its own part of the grid. Activations are [B, H, W, C] per row, weights
[CO, KH, KW, CI] per row, without gaps. Sums are float32, in an order that shapes alone decide: no atomics.
"""

import triton
import triton.language as tl


@triton.jit
def _tap(k, block, CHANNELS: tl.constexpr, BK: tl.constexpr):
    """(tap, channel) of the columns k of this block; the tap is one number where a block lies in one tap."""
    if CHANNELS % BK == 0:
        tap = (block * BK) // CHANNELS
        channel = k - tap * CHANNELS
    else:
        tap = k // CHANNELS
        channel = k % CHANNELS
    return tap, channel


@triton.jit
def _patch(
    x, m, k, block,
    CI: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr, S: tl.constexpr, P: tl.constexpr,
    H: tl.constexpr, W: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """[BM, BK] of the patch matrix: outputs m [BM], all of which exist, columns k [BK] of this block."""
    top = ((m // OW) % OH * S - P)[:, None]
    left = (m % OW * S - P)[:, None]
    base = (((m // (OH * OW))[:, None] * H + top) * W + left) * CI
    tap, channel = _tap(k[None, :], block, CI, BK)
    ky = tap // KW
    kx = tap % KW
    at = x + base + ((ky * W + kx) * CI + channel)
    if P > 0:
        met = (top + ky >= 0) & (top + ky < H) & (left + kx >= 0) & (left + kx < W)
        if (KH * KW * CI) % BK != 0:
            met = met & (tap < KH * KW)
        values = tl.load(at, mask=met, other=0.0)
    elif (KH * KW * CI) % BK != 0:
        values = tl.load(at, mask=(m >= 0)[:, None] & (tap < KH * KW), other=0.0)
    else:
        values = tl.load(at)
    return values


@triton.jit
def _store_statistics(partial, values, count, n, row, CO: tl.constexpr, BM: tl.constexpr):
    """Count, mean and sum of squared deviations of a tile's stored values → partial [3, R, chunks, CO].

    The deviations are from the tile's own mean, so that a large mean drowns none of them.
    """
    size = tl.minimum(count - tl.program_id(0) * BM, BM)
    there = (tl.arange(0, BM) < size)[:, None]
    mean = tl.sum(tl.where(there, values, 0.0), axis=0) / size
    deviation = tl.where(there, values - mean[None, :], 0.0)
    plane = tl.num_programs(2) * tl.num_programs(0) * CO
    target = partial + (row * tl.num_programs(0) + tl.program_id(0)) * CO + n
    tl.store(target, tl.zeros_like(mean) + size, mask=n < CO)
    tl.store(target + plane, mean, mask=n < CO)
    tl.store(target + 2 * plane, tl.sum(deviation * deviation, axis=0), mask=n < CO)


@triton.jit(do_not_specialize=["batch"])
def forward_kernel(
    x, w, y, partial, batch, STATS: tl.constexpr,
    CI: tl.constexpr, CO: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr, S: tl.constexpr, P: tl.constexpr,
    H: tl.constexpr, W: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """y[m, o] for a tile of outputs and a tile of channels of one row; grid (m, channels, rows).

    With STATS also the statistics of the tile, which batch-norm would have to read all of y for.
    """
    row = tl.program_id(2).to(tl.int64)
    count = batch * (OH * OW)
    x += row * batch * (H * W * CI)
    y += row * batch * (OH * OW * CO)
    w += row * (CO * KH * KW * CI)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    inside = tl.minimum(m, count - 1)  # the last tile repeats the last output and does not store it
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for block in range((KH * KW * CI + BK - 1) // BK):
        k = block * BK + tl.arange(0, BK)
        patch = _patch(x, inside, k, block, CI, KH, KW, S, P, H, W, OH, OW, BK)
        there = (n < CO)[None, :] & (k < KH * KW * CI)[:, None]
        weight = tl.load(w + n[None, :] * (KH * KW * CI) + k[:, None], mask=there, other=0.0)
        total = tl.dot(patch, weight, total, input_precision="ieee")
    there = (m < count)[:, None] & (n < CO)[None, :]
    stored = total.to(y.dtype.element_ty)
    tl.store(y + m[:, None] * CO + n[None, :], stored, mask=there)
    if STATS:
        _store_statistics(partial, stored.to(tl.float32), count, n, row, CO, BM)


@triton.jit(do_not_specialize=["batch"])
def input_gradient_kernel(
    dy, w, dx, batch,
    CI: tl.constexpr, CO: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr, S: tl.constexpr, P: tl.constexpr,
    H: tl.constexpr, W: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """dx[i, c] = Σ_(tap, o) dy[output that meets pixel i at this tap, o]·w[o, tap, c].

    A pixel (iy, ix) meets the taps ky ≡ iy + P (mod S) alone. Pixels are therefore taken class by class, S·S
    classes by (iy mod S, ix mod S): with c = (iy + P) mod S and q = (iy + P) div S, tap ky = c + S·j comes
    from output q − j, and no multiplication by a structural zero is left. Grid (m and class, channels, rows);
    the classes of a tile are neighbours in the grid: they share dy, and fill the lines of dx, in the cache.
    """
    QH: tl.constexpr = (H + S - 1) // S
    QW: tl.constexpr = (W + S - 1) // S
    JH: tl.constexpr = (KH + S - 1) // S
    JW: tl.constexpr = (KW + S - 1) // S
    row = tl.program_id(2).to(tl.int64)
    dy += row * batch * (OH * OW * CO)
    dx += row * batch * (H * W * CI)
    w += row * (CO * KH * KW * CI)
    family = tl.program_id(0) % (S * S)
    ry = family // S
    rx = family % S
    m = (tl.program_id(0) // (S * S)) * BM + tl.arange(0, BM)
    b = m // (QH * QW)
    iy = (m // QW) % QH * S + ry
    ix = m % QW * S + rx
    real = (b < batch) & (iy < H) & (ix < W)
    oy = ((iy + P) // S)[:, None]
    ox = ((ix + P) // S)[:, None]
    base = ((b[:, None] * OH + oy) * OW + ox) * CO
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for block in range((JH * JW * CO + BK - 1) // BK):
        k = block * BK + tl.arange(0, BK)
        tap, o = _tap(k[None, :], block, CO, BK)
        jy = tap // JW
        jx = tap % JW
        met = real[:, None] & (oy >= jy) & (oy - jy < OH) & (ox >= jx) & (ox - jx < OW) & (jy < JH)
        gradient = tl.load(dy + base - (jy * OW + jx) * CO + o, mask=met, other=0.0)
        tap, o = _tap(k[:, None], block, CO, BK)
        ky = (ry + P) % S + S * (tap // JW)
        kx = (rx + P) % S + S * (tap % JW)
        there = (n < CI)[None, :] & ((ky < KH) & (kx < KW))
        at = w + o * (KH * KW * CI) + (ky * KW + kx) * CI + n[None, :]
        weight = tl.load(at, mask=there, other=0.0)
        total = tl.dot(gradient, weight, total, input_precision="ieee")
    pixel = (b * H + iy) * W + ix
    there = real[:, None] & (n < CI)[None, :]
    tl.store(dx + pixel[:, None] * CI + n[None, :], total.to(dx.dtype.element_ty), mask=there)


@triton.jit(do_not_specialize=["batch", "chunk"])
def weight_gradient_kernel(
    x, dy, partial, batch, chunk,
    CI: tl.constexpr, CO: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr, S: tl.constexpr, P: tl.constexpr,
    H: tl.constexpr, W: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """partial[split, o, k] = Σ over a chunk of m of patch[m, k]·dy[m, o].

    Grid (tiles of k and o, splits, rows). The tiles of one chunk are neighbours: all but the first find x
    and dy in the L2 cache.
    """
    KTOT: tl.constexpr = KH * KW * CI
    BLOCKS: tl.constexpr = (KTOT + BK - 1) // BK
    row = tl.program_id(2).to(tl.int64)
    count = batch * (OH * OW)
    x += row * batch * (H * W * CI)
    dy += row * batch * (OH * OW * CO)
    partial += (row * tl.num_programs(1) + tl.program_id(1)) * (CO * KTOT)
    block = tl.program_id(0) % BLOCKS
    k = block * BK + tl.arange(0, BK)
    n = (tl.program_id(0) // BLOCKS) * BN + tl.arange(0, BN)
    total = tl.zeros((BK, BN), dtype=tl.float32)
    first = tl.program_id(1) * chunk
    for start in range(first, tl.minimum(first + chunk, count), BM):
        m = start + tl.arange(0, BM)
        patch = _patch(x, tl.minimum(m, count - 1), k, block, CI, KH, KW, S, P, H, W, OH, OW, BK)
        there = (m < count)[:, None] & (n < CO)[None, :]
        gradient = tl.load(dy + m[:, None] * CO + n[None, :], mask=there, other=0.0)
        total = tl.dot(tl.trans(patch), gradient, total, input_precision="ieee")
    there = (k < KTOT)[:, None] & (n < CO)[None, :]
    tl.store(partial + n[None, :] * KTOT + k[:, None], total, mask=there)

"""Convolution of R independent networks at once, channels last, without patches in memory.

Layers of small networks do little arithmetic per byte, and an unfolded input is four to nine times as
large as the input. These kernels gather patches tile by tile inside the matrix product, so each activation
is read about once per product. A kernel that covers its whole input is an ordinary batched product.
"""

from dataclasses import asdict, dataclass
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from noiselimit.engine.kernels.launch import launch


@dataclass(frozen=True)
class Geometry:
    """The sizes for which kernels are compiled; rows and batch are run-time arguments."""

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
    """The next power of two, at least the 16 that tensor cores need and at most `most`."""
    return min(max(1 << (value - 1).bit_length(), 16), most)


def _tile(sizes: tuple[int, int, int], dtype: torch.dtype, stages: int = 3) -> Tile:
    """float32 gets more threads, because it uses no tensor cores and would spill registers."""
    return Tile(*sizes, *((8, 2) if dtype == torch.float32 else (4, stages)))


# Found by timing about 460 tiles on an H200: 80 networks, the MNIST layers, bfloat16.


def forward_tile(g: Geometry, dtype: torch.dtype) -> Tile:
    """A block of columns lies in one tap if there are enough channels."""
    return _tile((128, power(g.CO, 128), power(g.CI if g.CI >= 16 else g.columns, 64)), dtype)


def input_gradient_tile(g: Geometry, dtype: torch.dtype) -> Tile:
    columns = power(g.CO, 64)
    return _tile((128, power(g.CI, 128), columns), dtype, stages=3 if columns < 64 else 2)


def weight_gradient_tile(g: Geometry, dtype: torch.dtype) -> Tile:
    outputs = 128 if g.CO <= 32 or g.columns <= 64 else 64
    return _tile((outputs, power(g.CO, 64), power(g.columns, 64)), dtype)


# ruff: noqa: N803, N806
# mypy: disable-error-code="no-untyped-def, untyped-decorator"


@triton.jit
def _tap(k, block, CHANNELS: tl.constexpr, BK: tl.constexpr):
    """(tap, channel) of the columns k of this block; the tap is a scalar if the block lies in one tap."""
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
    """[BM, BK] of the patch matrix: outputs m [BM], which all exist, and columns k [BK] of this block."""
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

    Deviations are from the tile's own mean, which keeps them exact.
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

    With STATS also the statistics of the tile, so that batch-norm need not read y for them.
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

    A pixel (iy, ix) meets only the taps ky ≡ iy + P (mod S). Pixels are therefore processed in S·S classes by
    (iy mod S, ix mod S): with c = (iy + P) mod S and q = (iy + P) div S, tap ky = c + S·j comes from output
    q − j, and nothing is multiplied by a structural zero. Grid (m and class, channels, rows); the classes of
    a tile are neighbours in the grid and share dy and lines of dx in the cache.
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

    Grid (tiles of k and o, splits, rows). The tiles of one chunk are neighbours and share x and dy in the L2
    cache.
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


PROGRAMS_PER_CORE = 4  # of the gradient of the weights: enough loads in flight, few partial sums


def pack(weight: Tensor, dtype: torch.dtype) -> Tensor:
    """Contiguous [R, CO, KH, KW, CI] from [R, CO, CI, KH, KW] of any strides, in one copy."""
    ordered = weight.permute(0, 1, 3, 4, 2)
    return torch.empty(ordered.shape, dtype=dtype, device=weight.device).copy_(ordered)


def forward(
    x: Tensor, packed: Tensor, g: Geometry, tile: Tile, statistics: bool = False
) -> tuple[Tensor, Tensor | None]:
    """y [R, B, OH, OW, CO] and, if requested, statistics of its tiles: float32 [3, R, tiles, CO]."""
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
    """Number of chunks of the sum over `tiles` tiles that keeps all multiprocessors busy.

    Each chunk has at least two tiles, because partial sums are traffic too.
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
    """a @ b in float32, also for bfloat16 factors."""
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
            ctx.set_materialize_grads(False)  # saves the launch that fills their gradient with zeros
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

    x is [R, B, H, W, CI]; weight is float32 [R, CO, CI, KH, KW] of any strides, best with channels last in
    each row. The result has the dtype of x. Products are summed in float32; the gradient of the weights is
    float32 with channels last in memory.
    """
    y: Tensor = _Convolution.apply(x, weight, stride, padding, False)[0]  # type: ignore[no-untyped-call]
    return y


def convolve_with_statistics(
    x: Tensor, weight: Tensor, stride: int, padding: int
) -> tuple[Tensor, Tensor | None]:
    """`convolve`'s result and, for `normalise`, the statistics of its chunks: float32 [3, R, chunks, CO].

    These are count, mean and sum of squared deviations of the stored values. They have no gradient, because
    that of batch-norm accounts for its statistics. None if the kernel covers the whole input.
    """
    return _Convolution.apply(x, weight, stride, padding, True)  # type: ignore[no-any-return, no-untyped-call]

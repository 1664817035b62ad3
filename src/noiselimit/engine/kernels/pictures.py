"""Select, crop, mirror and standardise pictures in one pass, channels last.

`BlockData.batch` computes the same with torch, in about eight passes.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from noiselimit.engine.kernels.launch import launch

# mypy: disable-error-code="no-untyped-def, untyped-decorator"


BLOCK = 1024


@triton.jit(do_not_specialize=["batch"])
def _make(
    pictures, index, mean, std, flip, down, across, out, batch,
    channels: tl.constexpr, height: tl.constexpr, width: tl.constexpr, padding: tl.constexpr,
    block: tl.constexpr,
):  # fmt: skip
    """One block of the values (y, x, channel) of one example; grid (examples, blocks, rows)."""
    row = tl.program_id(2)
    example = row.to(tl.int64) * batch + tl.program_id(0)
    value = tl.program_id(1) * block + tl.arange(0, block)
    inside = value < height * width * channels
    channel = value % channels
    x = value // channels % width
    y = value // (channels * width)
    target = out + example * (height * width * channels) + value
    if flip is not None:
        places: tl.constexpr = 2 * padding + 1
        x = tl.where(tl.load(flip + example), width - 1 - x, x)
        x += (tl.load(across + example) * places).to(tl.int32) - padding
        y += (tl.load(down + example) * places).to(tl.int32) - padding
        seen = inside & (x >= 0) & (x < width) & (y >= 0) & (y < height)
    else:
        seen = inside
    source = pictures + tl.load(index + example) * (channels * height * width)
    pixel = tl.load(source + (channel * height + y) * width + x, mask=seen, other=0).to(tl.float32)
    centre = tl.load(mean + row * channels + channel)
    spread = tl.load(std + row * channels + channel)
    tl.store(target, ((pixel - centre) / spread).to(out.dtype.element_ty), mask=inside)


def make_pictures(
    pictures: Tensor,
    index: Tensor,
    mean: Tensor,
    std: Tensor,
    dtype: torch.dtype,
    views: tuple[Tensor, Tensor, Tensor] | None = None,
    padding: int = 0,
) -> Tensor:
    """(pictures[index] − mean) / std, [K, B, C, H, W] of `dtype`, channels last in memory.

    `pictures` [n, C, H, W] of any type; `index` int64 [K, B]; `mean` and `std` float32 [K, C]. `views`: flip,
    down and across [K, B] of `Views`, the window of a picture with a border of `padding` zeros.
    """
    _, channels, height, width = pictures.shape
    rows, batch = index.shape
    out = torch.empty(rows, batch, height, width, channels, dtype=dtype, device=pictures.device)
    flip, down, across = (view.contiguous() for view in views) if views else (None, None, None)
    grid = (batch, triton.cdiv(height * width * channels, BLOCK), rows)
    statistics = mean.contiguous(), std.contiguous()
    sizes = batch, channels, height, width, padding, BLOCK
    launch(_make, grid, pictures, index.contiguous(), *statistics, flip, down, across, out, *sizes)
    return out.movedim(-1, 2)

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""Adam over the weights of K rows in one pass: 28 bytes a weight, some 130 in separate operations."""

from collections.abc import Mapping

import triton
import triton.language as tl
from torch import Tensor

from noiselimit.kernels.launch import launch

BLOCK = 1024


@triton.jit
def _adam(
    weights, gradients, means, squares, decays, lengths, corrections,
    count, block: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(1)
    column = tl.program_id(0) * block + tl.arange(0, block)
    inside = column < count
    at = row.to(tl.int64) * count + column
    weight = tl.load(weights + at, mask=inside)
    gradient = tl.load(gradients + at, mask=inside) + tl.load(decays + row) * weight
    mean = tl.load(means + at, mask=inside) * 0.9 + gradient * 0.1
    square = tl.load(squares + at, mask=inside) * 0.999 + gradient * gradient * 0.001
    root = tl.sqrt(square) / tl.load(corrections + row) + 1e-8
    tl.store(means + at, mean, mask=inside)
    tl.store(squares + at, square, mask=inside)
    tl.store(weights + at, weight - mean * tl.load(lengths + row) / root, mask=inside)


def adam(
    weights: Tensor, gradients: Tensor, state: Mapping[str, Tensor], factors: Mapping[str, Tensor]
) -> None:
    """`noiselimit.optimisers`' rule for float32 [K, n], all of it contiguous; factors [K, 1]."""
    tensors = (weights, gradients.contiguous(), state["mean"], state["square"])
    assert all(tensor.is_contiguous() for tensor in tensors)
    given = (factors[name].contiguous() for name in ("weight_decay", "length", "correction"))
    rows, count = weights.shape
    launch(_adam, (triton.cdiv(count, BLOCK), rows), *tensors, *given, count, block=BLOCK)

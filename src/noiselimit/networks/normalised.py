"""Batch-norm, a shortcut and ReLU as one thing, so that a layer which can may do it in one pass."""

from typing import Any

from torch import Tensor, nn, relu


def normalised(norm: nn.Module, x: Tensor, shortcut: Tensor | None = None) -> Tensor:
    """relu(norm(x) + shortcut). Layers other than torch's own take both with them."""
    if type(norm) is not nn.BatchNorm2d:
        fused: Any = norm
        out: Tensor = fused(x, shortcut, relu=True)
        return out
    normal: Tensor = norm(x)
    return relu(normal if shortcut is None else normal + shortcut)

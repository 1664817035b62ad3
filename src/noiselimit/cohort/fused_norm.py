"""Batch-norm with our own kernel, for ordinary layers and for stacked ones."""

from typing import Protocol

import torch
from torch import Tensor


class BatchNorm(Protocol):
    """What torch's batch-norm layers have; [C] each, or [K, C] where rows are stacked."""

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor
    eps: float
    momentum: float

    @property
    def weight(self) -> Tensor: ...

    @property
    def bias(self) -> Tensor: ...


def fused_norm(
    layer: BatchNorm,
    x: Tensor,
    *,
    training: bool,
    shortcut: Tensor | None = None,
    relu: bool = True,
    partial: Tensor | None = None,
) -> Tensor:
    """relu(layer(x) + shortcut) of [R, M, C]; R is 1 for an ordinary layer.

    `partial` statistics are what a convolution of ours leaves behind.
    """
    from noiselimit.kernels.normalisation import normalise

    if training:
        with torch.no_grad():
            layer.num_batches_tracked.add_(1)
    vectors = (layer.weight, layer.bias, layer.running_mean, layer.running_var)
    weight, bias, mean, variance = (each.unsqueeze(0) if each.dim() == 1 else each for each in vectors)
    return normalise(
        x,
        weight,
        bias,
        mean,
        variance,
        eps=layer.eps,
        momentum=layer.momentum,
        training=training,
        shortcut=shortcut,
        relu=relu,
        partial=partial,
    )

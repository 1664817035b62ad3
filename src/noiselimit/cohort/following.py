"""Twins of ordinary layers that compute in the type of their input, while their weights stay float32.

With bfloat16 inputs all activations are half as large; with float32 inputs nothing changes. `fused` ones hand
batch-norm, the shortcut beside it and ReLU to one kernel.
"""

from collections.abc import Callable, Mapping

from torch import Tensor, nn
from torch.nn import functional

from noiselimit.cohort.fused_norm import fused_norm

Twins = Mapping[type[nn.Module], Callable[..., nn.Module]]
"""Type of a layer → what makes its twin of it."""


class FollowingLinear(nn.Module):
    """[..., inputs] → [..., outputs]."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, x: Tensor) -> Tensor:
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return functional.linear(x, self.weight.to(x.dtype), bias)


class FollowingConv2d(nn.Module):
    """[B, inputs, H, W] → [B, outputs, H', W']."""

    def __init__(self, layer: nn.Conv2d) -> None:
        super().__init__()
        assert layer.bias is None
        assert layer.groups == 1
        self.weight = layer.weight
        self.stride, self.padding = layer.stride, layer.padding

    def forward(self, x: Tensor) -> Tensor:
        return functional.conv2d(x, self.weight.to(x.dtype), None, self.stride, self.padding)


class BatchNormTwin(nn.Module):
    """Holds what a batch-norm layer does, under the same names; how it computes is for others to say."""

    def __init__(self, layer: nn.BatchNorm1d | nn.BatchNorm2d) -> None:
        super().__init__()
        assert layer.momentum is not None
        self.weight, self.bias = layer.weight, layer.bias
        self.eps, self.momentum = layer.eps, layer.momentum
        for name, buffer in layer.named_buffers():
            self.register_buffer(name, buffer)
        self.running_mean: Tensor
        self.running_var: Tensor
        self.num_batches_tracked: Tensor


class FusedBatchNorm2d(BatchNormTwin):
    """Batch-norm of [B, channels, H, W] that takes a shortcut and ReLU into the same pass."""

    def forward(self, x: Tensor, shortcut: Tensor | None = None, relu: bool = False) -> Tensor:
        batch, channels, height, width = x.shape
        beside = None if shortcut is None else _channels_last(shortcut)
        out = fused_norm(self, _channels_last(x), training=self.training, shortcut=beside, relu=relu)
        return out.view(batch, height, width, channels).permute(0, 3, 1, 2)


def _channels_last(x: Tensor) -> Tensor:
    """[B, C, H, W] → [1, B·H·W, C], a view of what convolutions on a GPU make."""
    return x.permute(0, 2, 3, 1).reshape(1, -1, x.shape[1])


FOLLOWING_LAYERS: Twins = {nn.Linear: FollowingLinear, nn.Conv2d: FollowingConv2d}
FUSED_LAYERS: Twins = {**FOLLOWING_LAYERS, nn.BatchNorm2d: FusedBatchNorm2d}


def replaced(module: nn.Module, twins: Twins) -> nn.Module:
    """The module with every layer that has a twin swapped for it, in place; every name stays."""
    for name, child in list(module.named_children()):
        twin = twins.get(type(child))
        if twin or not getattr(child, "is_twin", False):
            setattr(module, name, twin(child) if twin else replaced(child, twins))
    return module

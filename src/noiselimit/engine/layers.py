"""Layers that replace those of a network: for bfloat16, for stacked rows, and for our kernels.

Each holds the parameters of the layer it replaces under the same names. `Following…` layers compute in the
type of their input, `Stacked…` layers compute K rows at once, `Fused…` layers use our kernels. Only layers of
built-in networks are replaced: their convolutions are square and have no bias, groups or dilation.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import pad

from noiselimit.networks.network import Dropout, in_float32


def fused_norm(layer: Any, x: Tensor, **options: Any) -> Tensor:
    """Call `normalise` with a batch-norm layer's tensors on [R, M, C]; R is 1 for an ordinary layer."""
    from noiselimit.engine.kernels.normalisation import normalise

    if layer.training:
        with torch.no_grad():
            layer.num_batches_tracked.add_(1)
    vectors = (layer.weight, layer.bias, layer.running_mean, layer.running_var)
    rows = (each.unsqueeze(0) if each.dim() == 1 else each for each in vectors)
    return normalise(x, *rows, eps=layer.eps, momentum=layer.momentum, training=layer.training, **options)


Replacements = Mapping[type[nn.Module], Callable[..., nn.Module]]
"""Type of a layer → function that makes its replacement."""


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
        self.weight = layer.weight
        self.stride, self.padding = layer.stride, layer.padding

    def forward(self, x: Tensor) -> Tensor:
        return functional.conv2d(x, self.weight.to(x.dtype), None, self.stride, self.padding)


class BatchNormLayer(nn.Module):
    """The parameters and statistics of a batch-norm layer."""

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


class FusedBatchNorm2d(BatchNormLayer):
    """Batch-norm, shortcut and ReLU of [B, channels, H, W] in one pass."""

    def forward(self, x: Tensor, shortcut: Tensor | None = None, relu: bool = False) -> Tensor:
        batch, channels, height, width = x.shape
        if shortcut is not None:
            shortcut = _channels_last(shortcut)
        out = fused_norm(self, _channels_last(x), shortcut=shortcut, relu=relu)
        return out.view(batch, height, width, channels).permute(0, 3, 1, 2)


def _channels_last(x: Tensor) -> Tensor:
    """[B, C, H, W] → [1, B·H·W, C]; a view, because GPU convolutions return channels last."""
    return x.permute(0, 2, 3, 1).reshape(1, -1, x.shape[1])


FOLLOWING_LAYERS: Replacements = {nn.Linear: FollowingLinear, nn.Conv2d: FollowingConv2d}
FUSED_LAYERS: Replacements = {**FOLLOWING_LAYERS, nn.BatchNorm2d: FusedBatchNorm2d}


def replace_layers(module: nn.Module, replacements: Replacements) -> nn.Module:
    """Replace every layer that has a replacement, in place; names stay."""
    for name, child in list(module.named_children()):
        make = replacements.get(type(child))
        if make is not None:
            setattr(module, name, make(child))
        elif not isinstance(child, FusedConvolutions):
            replace_layers(child, replacements)
    return module


class StackedLinear(nn.Module):
    """[K, B, inputs] → [K, B, outputs] as one batched matrix product."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight.to(x.dtype).mT
        if self.bias is None:
            return torch.bmm(x, weight)
        return torch.baddbmm(self.bias.to(x.dtype).unsqueeze(1), x, weight)


class StackedConv2d(nn.Module):
    """[K, B, inputs, H, W] → [K, B, outputs, H', W'] as one batched product of patches.

    A grouped convolution is several times slower.
    """

    def __init__(self, layer: nn.Conv2d) -> None:
        super().__init__()
        self.weight = layer.weight
        self.kernel, self.stride, self.padding = layer.kernel_size, layer.stride, layer.padding

    def forward(self, x: Tensor) -> Tensor:
        rows, batch = x.shape[:2]
        vertical, horizontal = int(self.padding[0]), int(self.padding[1])
        x = pad(x, (horizontal, horizontal, vertical, vertical))
        # Two strided views and one copy: on a GPU much faster than torch's unfold.
        patches = x.unfold(3, self.kernel[0], self.stride[0]).unfold(4, self.kernel[1], self.stride[1])
        height, width = patches.shape[3:5]
        patches = patches.permute(0, 1, 3, 4, 2, 5, 6).reshape(rows, batch * height * width, -1)
        weight = self.weight.to(x.dtype).flatten(2).mT
        out = torch.bmm(patches, weight)  # [K, B·H'·W', outputs]
        return out.view(rows, batch, height, width, -1).movedim(-1, 2)


class StackedBatchNorm(BatchNormLayer):
    """Batch-norm of [K, B, features] or [K, B, channels, H, W], for each row and channel."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            dims = [1, *range(3, x.dim())]
            variance, mean = torch.var_mean(in_float32(x), dims, correction=0)  # [K, channels]
            self._update(mean.detach(), variance.detach(), x.numel() // mean.numel())
        else:
            mean, variance = self.running_mean, self.running_var
        scale = self.weight * (variance + self.eps).rsqrt()
        shift = self.bias - mean * scale
        shape = (x.shape[0], 1, x.shape[2], *[1] * (x.dim() - 3))
        return (x * scale.view(shape) + shift.view(shape)).to(x.dtype)

    @torch.no_grad()
    def _update(self, mean: Tensor, variance: Tensor, count: int) -> None:
        self.num_batches_tracked.add_(1)
        self.running_mean.lerp_(mean, self.momentum)
        self.running_var.lerp_(variance * (count / (count - 1)), self.momentum)


STACKED_LAYERS: Replacements = {
    nn.Linear: StackedLinear,
    nn.Conv2d: StackedConv2d,
    nn.BatchNorm1d: StackedBatchNorm,
    nn.BatchNorm2d: StackedBatchNorm,
    # These work with any leading dimensions.
    nn.ReLU: lambda layer: layer,
    Dropout: lambda layer: layer,
    nn.Flatten: lambda layer: layer,
}


class FusedConvolutions(nn.Module):
    """Convolution, batch-norm and ReLU, repeated, then flattened: [K, B, C, H, W] → [K, B, features]."""

    def __init__(self, sequence: nn.Sequential) -> None:
        super().__init__()
        for name, layer in sequence.named_children():
            self.add_module(name, layer)

    def forward(self, x: Tensor) -> Tensor:
        from noiselimit.engine.kernels.convolution import convolve, convolve_with_statistics

        x = x.movedim(2, -1).contiguous()  # [K, B, H, W, channels]
        for layer, after in pairwise(self.children()):
            if isinstance(layer, nn.Conv2d):
                stride, padding = layer.stride[0], cast(int, layer.padding[0])
                partial = None
                if self.training:
                    x, partial = convolve_with_statistics(x, layer.weight, stride, padding)
                else:
                    x = convolve(x, layer.weight, stride, padding)
                x = fused_norm(after, x.flatten(1, 3), partial=partial).view(x.shape)
        return x.movedim(-1, 2).flatten(2)


def is_fusible(module: nn.Module) -> bool:
    """Whether `FusedConvolutions` can replace the module."""
    if type(module) is not nn.Sequential or len(module) < 4 or type(module[-1]) is not nn.Flatten:
        return False
    kinds = [type(layer) for layer in module][:-1]
    return kinds == [nn.Conv2d, nn.BatchNorm2d, nn.ReLU] * (len(kinds) // 3)

"""Stacked convolutions with batch-norm and ReLU through our own kernels: channels last, no patches in memory.

The plain twins in `noiselimit.cohort.stacked` compute the same.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Protocol, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import pad

from noiselimit.networks.network import Dropout, in_float32


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
    from noiselimit.engine.kernels.normalisation import normalise

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


class StackedLinear(nn.Module):
    """[K, B, inputs] → [K, B, outputs], one batched matrix product."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight.to(x.dtype).mT
        if self.bias is None:
            return torch.bmm(x, weight)
        return torch.baddbmm(self.bias.to(x.dtype).unsqueeze(1), x, weight)


def check_plain(layer: nn.Conv2d) -> None:
    """Refuse a convolution that has no stacked form."""
    plain = layer.groups == 1 and layer.dilation == (1, 1) and layer.padding_mode == "zeros"
    if not plain or layer.bias is not None or isinstance(layer.padding, str):
        raise ValueError("only plain convolutions without bias and with numeric padding can be stacked")


class StackedConv2d(nn.Module):
    """[K, B, inputs, H, W] → [K, B, outputs, H', W']: patches, then one batched matrix product.

    A grouped convolution would do the same, several times slower.
    """

    def __init__(self, layer: nn.Conv2d) -> None:
        super().__init__()
        check_plain(layer)
        self.weight = layer.weight
        self.kernel, self.stride, self.padding = layer.kernel_size, layer.stride, layer.padding

    def forward(self, x: Tensor) -> Tensor:
        rows, batch = x.shape[:2]
        vertical, horizontal = int(self.padding[0]), int(self.padding[1])
        x = pad(x, (horizontal, horizontal, vertical, vertical))
        # Two strided views and one copy: on a GPU much quicker than torch's own unfold.
        patches = x.unfold(3, self.kernel[0], self.stride[0]).unfold(4, self.kernel[1], self.stride[1])
        height, width = patches.shape[3:5]
        patches = patches.permute(0, 1, 3, 4, 2, 5, 6).reshape(rows, batch * height * width, -1)
        weight = self.weight.to(x.dtype).flatten(2).mT
        out = torch.bmm(patches, weight)  # [K, B·H'·W', outputs]
        return out.view(rows, batch, height, width, -1).movedim(-1, 2)


class StackedBatchNorm(BatchNormTwin):
    """Batch-norm of [K, B, features] or [K, B, channels, H, W] over everything but rows and channels."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            dims = [1, *range(3, x.dim())]
            variance, mean = torch.var_mean(in_float32(x), dims, correction=0)  # [K, channels]
            self._remember(mean.detach(), variance.detach(), x.numel() // mean.numel())
        else:
            mean, variance = self.running_mean, self.running_var
        scale = self.weight * (variance + self.eps).rsqrt()
        shift = self.bias - mean * scale
        shape = (x.shape[0], 1, x.shape[2], *[1] * (x.dim() - 3))
        return (x * scale.view(shape) + shift.view(shape)).to(x.dtype)

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor, count: int) -> None:
        self.num_batches_tracked.add_(1)
        self.running_mean.lerp_(mean, self.momentum)
        self.running_var.lerp_(variance * (count / (count - 1)), self.momentum)


def _same(layer: nn.Module) -> nn.Module:
    """For layers that do not care about leading dimensions."""
    return layer


STACKED_LAYERS: Twins = {
    nn.Linear: StackedLinear,
    nn.Conv2d: StackedConv2d,
    nn.BatchNorm1d: StackedBatchNorm,
    nn.BatchNorm2d: StackedBatchNorm,
    nn.ReLU: _same,
    Dropout: _same,  # its keys and counts are stacked like any other buffer
    nn.Flatten: _same,  # our networks count the flattened dimensions from the end
}


class FusedConvolutions(nn.Module):
    """[K, B, channels, H, W] → [K, B, features]: a chain of convolution, batch-norm and ReLU, flattened.

    Holds the layers under the names they had in the sequence that it replaces; their parameters are stacked.
    """

    is_twin = True

    def __init__(self, sequence: nn.Sequential) -> None:
        super().__init__()
        for name, layer in sequence.named_children():
            self.add_module(name, layer)
        for layer in sequence:
            if isinstance(layer, nn.Conv2d):
                check_plain(layer)

    def forward(self, x: Tensor) -> Tensor:
        from noiselimit.engine.kernels.convolution import convolve, convolve_with_statistics

        x = x.movedim(2, -1).contiguous()  # [K, B, H, W, channels]; of grey pictures a view
        for layer, after in pairwise(self.children()):
            if isinstance(layer, nn.Conv2d):
                stride, padding = layer.stride[0], cast(int, layer.padding[0])
                partial = None
                if self.training:
                    x, partial = convolve_with_statistics(x, layer.weight, stride, padding)
                else:
                    x = convolve(x, layer.weight, stride, padding)
                norm = cast(BatchNorm, after)
                out = fused_norm(norm, x.flatten(1, 3), training=self.training, partial=partial)
                x = out.view(x.shape)
        return x.movedim(-1, 2).flatten(2)


def is_fusible(module: nn.Module) -> bool:
    """Whether the module is a sequence of such convolutions, square in stride and padding, and flattens."""
    if type(module) is not nn.Sequential or len(module) < 4 or type(module[-1]) is not nn.Flatten:
        return False
    layers = list(module)[:-1]
    kinds = [type(layer) for layer in layers]
    if kinds != [nn.Conv2d, nn.BatchNorm2d, nn.ReLU] * (len(kinds) // 3):
        return False
    return all(
        len(set(layer.stride)) == 1 and len(set(layer.padding)) == 1
        for layer in layers
        if isinstance(layer, nn.Conv2d)
    )

"""Layers whose parameters and activations carry a leading row dimension: [K, ...] and [K, B, ...].

Each holds the ordinary layer's settings and the same parameter names, so a stacked state dict is the ordinary
ones stacked, and row k of it is an ordinary state dict.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from noiselimit.cohort.following import BatchNormTwin, Twins
from noiselimit.networks.dropout import Dropout
from noiselimit.networks.network import in_float32


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

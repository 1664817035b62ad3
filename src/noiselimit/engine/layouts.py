"""Two ways to run K networks of one architecture on K batches, from the same stacked tensors.

`looped` calls the module once per row. It works for any module and is best on a CPU, where each row's
arithmetic is then the same as alone. `stacked` replaces every layer by a stacked one, so that one kernel
serves all rows. It is best for small networks on a GPU, where launches take longer than arithmetic.

The layers below replace those of a network: each has the same parameters and another forward. `Following…`
layers compute in the type of their input, `Stacked…` layers compute K rows at once, `Fused…` layers use our
kernels. Only layers of built-in networks are replaced: their convolutions are square and have no bias, groups
or dilation.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional
from torch.nn.functional import pad

from noiselimit.networks.architecture import FrozenFeatures
from noiselimit.networks.network import Dropout, in_float32

Result = TypeVar("Result")

STREAMS = 2
"""Enough for the two networks of one run."""


def side_by_side(one: Callable[[int], Result], rows: int, device: torch.device) -> list[Result]:
    """`one(row)` for every row; on a GPU on alternating streams.

    Autograd runs the backward of an operation on the stream of its forward.
    """
    if device.type != "cuda" or rows == 1:
        return [one(row) for row in range(rows)]
    here = torch.cuda.current_stream(device)
    streams = _streams(device, min(STREAMS, rows))
    results = []
    for stream in streams:
        stream.wait_stream(here)
    for row in range(rows):
        with torch.cuda.stream(streams[row % len(streams)]):
            results.append(one(row))
    for stream in streams:
        here.wait_stream(stream)
    return results


@cache
def _streams(device: torch.device, count: int) -> list[torch.cuda.Stream]:
    """Always the same streams, because torch caches memory for each."""
    return [torch.cuda.Stream(device) for _ in range(count)]  # type: ignore[no-untyped-call]


Tensors = Mapping[str, Tensor]
"""Parameter or buffer name → [K, ...]."""

_CACHE_LINE = 64  # bytes

Forward = Callable[[Tensors, Tensors, Tensor, bool], tuple[Tensor, Tensor]]
"""(parameters, buffers, inputs [K, B, ...], training) → logits [K, B, C], features [K, B, F].

In training, the running statistics in `buffers` are updated in place.
"""


def looped(module: nn.Module, dtype: torch.dtype = torch.float32, *, fused: bool = False) -> Forward:
    """Call the module row by row, with activations of this type; `fused`: with our kernels.

    Weights, statistics, losses and the last layer are always float32.
    """
    module, ours = copy.deepcopy(module), _is_ours(module)
    if ours and (fused or dtype != torch.float32):
        module = replace_layers(module, FUSED_LAYERS if fused else FOLLOWING_LAYERS)
    call = _quick_call(module) if ours else partial(_call_foreign, module, dtype)

    def forward(
        parameters: Tensors, buffers: Tensors, inputs: Tensor, training: bool
    ) -> tuple[Tensor, Tensor]:
        module.train(training)
        unbound = {name: _rows(tensor) for name, tensor in parameters.items()}

        def one(row: int) -> tuple[Tensor, Tensor]:
            state = {name: _aligned(tensors[row]) for name, tensors in unbound.items()}
            state.update((name, tensor.detach()[row]) for name, tensor in buffers.items())
            return call(state, _ready(inputs[row], dtype if ours else inputs.dtype))

        logits, features = zip(*side_by_side(one, len(inputs), inputs.device), strict=True)
        return torch.stack(logits), torch.stack(features)

    return forward


def _ready(inputs: Tensor, dtype: torch.dtype) -> Tensor:
    """A row's inputs in the network's type and memory format."""
    if inputs.device.type == "cuda" and inputs.dim() == 4:
        return inputs.to(dtype, memory_format=torch.channels_last)
    return _aligned(inputs.to(dtype))


def _call_foreign(
    module: nn.Module, dtype: torch.dtype, state: Tensors, inputs: Tensor
) -> tuple[Tensor, Tensor]:
    """Call a user's module; torch's autocast decides which operations use the shorter type."""
    shorter = dtype != torch.float32
    with torch.autocast(inputs.device.type, dtype, enabled=shorter, cache_enabled=False):
        logits, features = functional_call(module, dict(state), (inputs,))
    return (logits.float(), features.float()) if shorter else (logits, features)


def _quick_call(module: nn.Module) -> Callable[[Tensors, Tensor], tuple[Tensor, Tensor]]:
    """A fast `functional_call` for a private copy of one of our networks.

    For a small network on a GPU, `functional_call` takes as long as the arithmetic. Modules that keep their
    weights elsewhere too, such as torch's recurrent ones, need it.
    """
    places: dict[str, tuple[dict[str, Any], str]] = {}
    for path, part in module.named_modules():
        for held in (part._parameters, part._buffers):
            for name in held:
                places[f"{path}.{name}" if path else name] = (held, name)

    def call(state: Tensors, inputs: Tensor) -> tuple[Tensor, Tensor]:
        for name, tensor in state.items():
            held, own_name = places[name]
            held[own_name] = tensor
        logits, features = module(inputs)
        return logits, features

    return call


def _rows(stacked: Tensor) -> Sequence[Tensor]:
    """[K, ...] → K tensors. For one row the gradient is then a view, not a copy."""
    return [stacked.squeeze(0)] if len(stacked) == 1 else stacked.unbind(0)


def _aligned(row: Tensor) -> Tensor:
    """The row at the start of a cache line, as a tensor of its own would be.

    Products of very few rows can round differently elsewhere.
    """
    return row if row.data_ptr() % _CACHE_LINE == 0 else row.clone()


def stacked(module: nn.Module, dtype: torch.dtype = torch.float32, *, fused: bool = False) -> Forward:
    """Call stacked layers with all rows at once; see `looped`."""
    module = replace_layers(copy.deepcopy(module), STACKED_LAYERS, fuse=fused)
    call = _quick_call(module)

    def forward(
        parameters: Tensors, buffers: Tensors, inputs: Tensor, training: bool
    ) -> tuple[Tensor, Tensor]:
        module.train(training)
        return call({**parameters, **buffers}, inputs.to(dtype))

    return forward


LARGEST_STACKED = 2_000_000
"""Parameters above which one row fills a GPU, and patches would fill its memory."""


def can_stack(module: nn.Module) -> bool:
    """Whether every layer can be stacked, as in our small networks."""
    if not _is_ours(module) or sum(each.numel() for each in module.parameters()) > LARGEST_STACKED:
        return False
    return all(type(part) in STACKED_LAYERS or list(part.children()) for part in module.modules())


def _is_ours(network: nn.Module) -> bool:
    """Whether the network is built in.

    The layers of a user's network may be of the same types, but have options that our replacements lack.
    """
    return type(network).__module__.startswith("noiselimit.networks.") and type(network) is not FrozenFeatures


def layout_for(
    module: nn.Module, device: torch.device, dtype: torch.dtype, *, fused: bool, stack: bool = True
) -> Forward:
    """The faster layout that works for this module on this device; `stack`: it may be `stacked`."""
    if device.type == "cuda" and stack and can_stack(module):
        return stacked(module, dtype, fused=fused)
    return looped(module.to(device), dtype, fused=fused)  # also what is not in its state dict


# Layers that replace those of a network --------------------------------------------------------------


def fused_norm(layer: Any, x: Tensor, **options: Any) -> Tensor:
    """Call `normalise` with a batch-norm layer's tensors on [R, M, C]; R is 1 for an ordinary layer."""
    from noiselimit.engine.kernels.normalisation import normalise

    if layer.training:
        with torch.no_grad():
            layer.num_batches_tracked.add_(1)
    vectors = (layer.weight, layer.bias, layer.running_mean, layer.running_var)
    rows = (each.unsqueeze(0) if each.dim() == 1 else each for each in vectors)
    return normalise(x, *rows, eps=layer.eps, momentum=layer.momentum, training=layer.training, **options)


class FollowingLinear(nn.Linear):
    """[..., inputs] → [..., outputs]."""

    def forward(self, x: Tensor) -> Tensor:
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return functional.linear(x, self.weight.to(x.dtype), bias)


class FollowingConv2d(nn.Conv2d):
    """[B, inputs, H, W] → [B, outputs, H', W']."""

    def forward(self, x: Tensor) -> Tensor:
        return functional.conv2d(x, self.weight.to(x.dtype), None, self.stride, self.padding)


class FusedBatchNorm2d(nn.BatchNorm2d):
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


class StackedLinear(nn.Linear):
    """[K, B, inputs] → [K, B, outputs] as one batched matrix product."""

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight.to(x.dtype).mT
        if self.bias is None:
            return torch.bmm(x, weight)
        return torch.baddbmm(self.bias.to(x.dtype).unsqueeze(1), x, weight)


class StackedConv2d(nn.Conv2d):
    """[K, B, inputs, H, W] → [K, B, outputs, H', W'] as one batched product of patches.

    A grouped convolution is several times slower.
    """

    def forward(self, x: Tensor) -> Tensor:
        rows, batch = x.shape[:2]
        vertical, horizontal = int(self.padding[0]), int(self.padding[1])
        x = pad(x, (horizontal, horizontal, vertical, vertical))
        # Two strided views and one copy: on a GPU much faster than torch's unfold.
        down, across = self.kernel_size
        patches = x.unfold(3, down, self.stride[0]).unfold(4, across, self.stride[1])
        height, width = patches.shape[3:5]
        patches = patches.permute(0, 1, 3, 4, 2, 5, 6).reshape(rows, batch * height * width, -1)
        weight = self.weight.to(x.dtype).flatten(2).mT
        out = torch.bmm(patches, weight)  # [K, B·H'·W', outputs]
        return out.view(rows, batch, height, width, -1).movedim(-1, 2)


class StackedBatchNorm(nn.modules.batchnorm._BatchNorm):
    """Batch-norm of [K, B, features] or [K, B, channels, H, W], for each row and channel."""

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor
    momentum: float

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


class FusedConvolutions(nn.Sequential):
    """Convolution, batch-norm and ReLU, repeated, then flattened: [K, B, C, H, W] → [K, B, features]."""

    def forward(self, x: Tensor) -> Tensor:
        from noiselimit.engine.kernels.convolution import convolve, convolve_with_statistics

        x = x.movedim(2, -1).contiguous()  # [K, B, H, W, channels]
        for layer, after in pairwise(self):
            if isinstance(layer, nn.Conv2d):
                stride, padding = layer.stride[0], cast(int, layer.padding[0])
                partial = None
                if self.training:
                    x, partial = convolve_with_statistics(x, layer.weight, stride, padding)
                else:
                    x = convolve(x, layer.weight, stride, padding)
                x = fused_norm(after, x.flatten(1, 3), partial=partial).view(x.shape)
        return x.movedim(-1, 2).flatten(2)


Replacements = Mapping[type[nn.Module], type[nn.Module]]
FOLLOWING_LAYERS: Replacements = {nn.Linear: FollowingLinear, nn.Conv2d: FollowingConv2d}
FUSED_LAYERS: Replacements = {**FOLLOWING_LAYERS, nn.BatchNorm2d: FusedBatchNorm2d}
STACKED_LAYERS: Replacements = {
    nn.Linear: StackedLinear,
    nn.Conv2d: StackedConv2d,
    nn.BatchNorm1d: StackedBatchNorm,
    nn.BatchNorm2d: StackedBatchNorm,
    # These work with any leading dimensions.
    nn.ReLU: nn.ReLU,
    Dropout: Dropout,
    nn.Flatten: nn.Flatten,
}


def replace_layers(module: nn.Module, replacements: Replacements, *, fuse: bool = False) -> nn.Module:
    """Replace every layer that has a replacement, in place; `fuse`: whole sequences by our kernels."""
    for child in module.children():
        kind = FusedConvolutions if fuse and is_fusible(child) else replacements.get(type(child))
        if kind is not None:
            child.__class__ = kind  # the layer keeps its parameters
        else:
            replace_layers(child, replacements)
    return module


def is_fusible(module: nn.Module) -> bool:
    """Whether `FusedConvolutions` can replace the module."""
    if type(module) is not nn.Sequential or len(module) < 4 or type(module[-1]) is not nn.Flatten:
        return False
    kinds = [type(layer) for layer in module][:-1]
    return kinds == [nn.Conv2d, nn.BatchNorm2d, nn.ReLU] * (len(kinds) // 3)

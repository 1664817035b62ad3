"""Two ways to run K networks of one architecture on K batches, from the same stacked tensors.

`looped` calls the module once per row. It works for any module and is best on a CPU, where each row's
arithmetic is then the same as alone. `stacked` replaces every layer by a stacked one, so that one kernel
serves all rows. It is best for small networks on a GPU, where launches take longer than arithmetic.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call

from noiselimit.engine.layers import (
    FOLLOWING_LAYERS,
    FUSED_LAYERS,
    STACKED_LAYERS,
    FusedConvolutions,
    is_fusible,
    replace_layers,
)
from noiselimit.networks.architecture import FrozenFeatures

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
    module = copy.deepcopy(module)
    for name, child in list(module.named_children()):
        if fused and is_fusible(child):
            setattr(module, name, FusedConvolutions(child))  # type: ignore[arg-type]
    call = _quick_call(replace_layers(module, STACKED_LAYERS))

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


def layout_for(module: nn.Module, device: torch.device, dtype: torch.dtype, *, fused: bool) -> Forward:
    """The faster layout that works for this module on this device."""
    if device.type == "cuda" and can_stack(module):
        return stacked(module, dtype, fused=fused)
    return looped(module.to(device), dtype, fused=fused)  # also what is not in its state dict

"""Two ways to run K networks of one architecture on K batches; both take the same stacked tensors.

`looped` calls the ordinary module once per row: right for any module, best on a CPU, where a row then takes
part in exactly the arithmetic it would alone. `stacked` replaces every layer by its stacked twin, so that one
kernel serves all rows: best on a GPU, where launches cost more than a small network's arithmetic.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from noiselimit.cohort.stacked import STACKED_LAYERS

Tensors = Mapping[str, Tensor]
"""Parameter or buffer name → [K, ...]."""

_CACHE_LINE = 64  # bytes

Forward = Callable[[Tensors, Tensors, Tensor, bool], tuple[Tensor, Tensor]]
"""(parameters, buffers, inputs [K, B, ...], training) → logits [K, B, C], features [K, B, F].

In training, batch-norm's running statistics are updated in `buffers`, in place.
"""


def looped(module: nn.Module) -> Forward:
    """Row after row through the ordinary module."""
    module = copy.deepcopy(module)
    call = _quick_call(module) if _all_ours(module) else partial(functional_call, module)

    def forward(
        parameters: Tensors, buffers: Tensors, inputs: Tensor, training: bool
    ) -> tuple[Tensor, Tensor]:
        module.train(training)
        unbound = {name: _rows(tensor) for name, tensor in parameters.items()}
        outputs = []
        for row in range(len(inputs)):
            state = {name: _aligned(tensors[row]) for name, tensors in unbound.items()}
            state.update((name, tensor.detach()[row]) for name, tensor in buffers.items())
            outputs.append(call(state, (_aligned(inputs[row]),)))
        logits, features = zip(*outputs, strict=True)
        return torch.stack(logits), torch.stack(features)

    return forward


def _quick_call(module: nn.Module) -> Callable[[Tensors, tuple[Tensor]], tuple[Tensor, Tensor]]:
    """`functional_call` without its care: the module is a private copy that is never called otherwise.

    For a small network on a GPU that care took as long as the arithmetic. Not for modules that keep their
    weights elsewhere too, as torch's recurrent ones do: only for networks made of layers that we know.
    """
    places: dict[str, tuple[dict[str, Any], str]] = {}
    for path, part in module.named_modules():
        for held in (part._parameters, part._buffers):
            for name in held:
                places[f"{path}.{name}" if path else name] = (held, name)

    def call(state: Tensors, arguments: tuple[Tensor]) -> tuple[Tensor, Tensor]:
        for name, tensor in state.items():
            held, own_name = places[name]
            held[own_name] = tensor
        logits, features = module(*arguments)
        return logits, features

    return call


def _rows(stacked: Tensor) -> Sequence[Tensor]:
    """[K, ...] → K tensors. The gradient of a single row is a view of it, not a copy as with several."""
    return [stacked.squeeze(0)] if len(stacked) == 1 else stacked.unbind(0)


def _aligned(row: Tensor) -> Tensor:
    """The row where a tensor of its own would begin: on a cache line.

    Products of very few rows (a last batch of two, say) were seen to round otherwise elsewhere.
    """
    return row if row.data_ptr() % _CACHE_LINE == 0 else row.clone()


def stacked(module: nn.Module) -> Forward:
    """All rows at once through stacked layers."""
    module = _replace_layers(copy.deepcopy(module))

    def forward(
        parameters: Tensors, buffers: Tensors, inputs: Tensor, training: bool
    ) -> tuple[Tensor, Tensor]:
        module.train(training)
        logits, features = functional_call(module, {**parameters, **buffers}, (inputs,))
        return logits, features

    return forward


LARGEST_STACKED = 2_000_000
"""Parameters of a network above which a row fills a GPU by itself, and patches would fill its memory."""


KNOWN_LAYERS = (*STACKED_LAYERS, nn.MaxPool2d)
"""Layers of our networks; those without a stacked twin only go row after row."""


def _all_ours(module: nn.Module) -> bool:
    """Whether the network is ours, down to its layers."""
    return all(type(part) in KNOWN_LAYERS or _is_ours(part) for part in module.modules())


def can_stack(module: nn.Module) -> bool:
    """Whether every layer has a stacked twin. Holds for our small networks; anybody else's run looped."""
    if sum(parameter.numel() for parameter in module.parameters()) > LARGEST_STACKED:
        return False
    return all(
        type(part) in STACKED_LAYERS or (list(part.children()) and _is_ours(part))
        for part in module.modules()
    )


def _is_ours(container: nn.Module) -> bool:
    """Whether the container's own code counts dimensions from the end, as our networks do."""
    return type(container) is nn.Sequential or type(container).__module__.startswith("noiselimit.networks.")


def layout_for(module: nn.Module, device: torch.device, rows: int) -> Forward:
    """The quicker layout that is right for so many rows of this module on this device."""
    if device.type == "cuda" and rows > 1 and can_stack(module):
        return stacked(module)
    return looped(module.to(device))  # with it goes what a state dict leaves out


def _replace_layers(module: nn.Module) -> nn.Module:
    """Swap each leaf layer for its stacked twin, keeping every name."""
    for name, child in list(module.named_children()):
        twin = STACKED_LAYERS.get(type(child))
        setattr(module, name, twin(child) if twin else _replace_layers(child))
    return module

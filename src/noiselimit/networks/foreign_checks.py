"""Whether somebody else's modules can be trained here, said before training in one sentence."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from noiselimit.errors import InputError
from noiselimit.networks.dotted import somebodys_code
from noiselimit.networks.foreign_layers import check_draws, check_state
from noiselimit.networks.generator import seeded_generator
from noiselimit.networks.head import head_of


def check_network(
    path: str, network: nn.Module, input_shape: tuple[int, ...], classes: int, *, head_bias: bool
) -> None:
    """Whether the network can be trained here; asked of two blank inputs, in either mode."""
    check_state("network", path, network)
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise InputError(f"network '{path}' has no parameter that learns: set requires_grad on some.")
    check_draws(path, network)
    found = called("network", path, network.eval(), torch.zeros(2, *input_shape))
    _check_output(path, found, 2, classes)
    if not head_bias:
        _check_head(path, network, *found)
    batch, trained = _in_training(path, network, input_shape)
    _check_output(path, trained, batch, classes, " in training")
    if _kind(found) != _kind(trained):
        raise InputError(
            f"network '{path}' gives {_described(trained)} in training, but {_described(found)} in "
            "evaluation: return the same, logits or (logits, features), in both."
        )


def called(what: str, path: str, module: nn.Module, inputs: Tensor, when: str = "") -> Any:
    """What the module gives for the inputs; torch's generator stays as it was."""
    shape = list(inputs.shape[1:])
    with (
        somebodys_code(f"{what} '{path}' fails on inputs of shape {shape}{when} ({{}}): repair it first."),
        seeded_generator(0),
        torch.no_grad(),
    ):
        return module(inputs)


def _in_training(path: str, network: nn.Module, input_shape: tuple[int, ...]) -> tuple[int, Any]:
    """A number of inputs, and what the network makes of them in training; its buffers are put back.

    Two blank inputs; where the network wants more of them, or some that differ, sixteen that do.
    """
    before = dict(network.named_buffers())
    kept = {name: buffer.clone() for name, buffer in before.items()}
    varied = torch.arange(16.0 * math.prod(input_shape)).square().sin().reshape(16, *input_shape)
    network.train()
    try:
        try:
            return 2, called("network", path, network, torch.zeros(2, *input_shape))
        except InputError:
            return 16, called("network", path, network, varied, " in training")
    finally:
        _check_buffers(path, network, before, kept)
        network.eval()
        with torch.no_grad():
            for name, buffer in before.items():
                buffer.copy_(kept[name])


def _check_buffers(path: str, network: nn.Module, before: dict[str, Tensor], kept: dict[str, Tensor]) -> None:
    """Rows lend one module their buffers: one that it replaces is lost, one that is not saved is shared."""
    saved = network.state_dict()
    for name, buffer in before.items():
        if name not in saved and not torch.equal(buffer, kept[name]):
            raise InputError(
                f"network '{path}' changes its buffer '{name}' in training, which is not in its state dict: "
                "register it with persistent=True."
            )
    for name, buffer in network.named_buffers():
        if name in saved and buffer is not before.get(name):
            raise InputError(
                f"network '{path}' puts a new tensor in the place of its buffer '{name}': change the buffer "
                "in place, for instance with copy_."
            )


def _check_output(path: str, found: Any, batch: int, classes: int, when: str = "") -> None:
    shapes = [list(part.shape) if isinstance(part, Tensor) else [] for part in _parts(found)]
    if len(shapes) != 2 or shapes[0] != [batch, classes] or len(shapes[1]) != 2 or shapes[1][0] != batch:
        raise InputError(
            f"network '{path}' gives {_described(found)} for a batch of {batch} inputs{when}: return logits "
            f"[{batch}, {classes}] or (logits, features [{batch}, any])."
        )


def _check_head(path: str, network: nn.Module, logits: Tensor, features: Tensor) -> None:
    head = head_of(network)
    fits = head is not None and features is not logits and features.shape[1] == head.in_features
    if not fits or head is None or not torch.allclose(head(features), logits, rtol=1e-3, atol=1e-4):
        raise InputError(
            f"network '{path}' is to have no bias in its last layer: return (logits, features) from it and "
            "make its last layer, an nn.Linear of the features, an attribute called 'head' or 'fc'."
        )


def _parts(found: Any) -> list[Any]:
    return list(found) if isinstance(found, tuple | list) else [found]


def _kind(found: tuple[Tensor, Tensor]) -> tuple[bool, int]:
    """Whether logits came alone, and how many features there are."""
    return found[0] is found[1], found[1].shape[1]


def _described(found: Any) -> str:
    if isinstance(found, tuple | list) and len(found) == 2 and found[0] is found[1]:
        found = found[0]
    named = [
        str(list(part.shape)) if isinstance(part, Tensor) else type(part).__name__ for part in _parts(found)
    ]
    return ", ".join(named) or "nothing"

"""Networks by dotted path: somebody else's factory(input_shape, classes), made to fit in here."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from noiselimit.errors import InputError
from noiselimit.networks.dotted import load, said
from noiselimit.networks.dropout import Dropout
from noiselimit.networks.generator import seeded_generator
from noiselimit.networks.head import head_of


def built_by(what: str, path: str, arguments: tuple[Any, ...], seed: int) -> nn.Module:
    """The module that the factory at the dotted path makes, under this seed of torch's generator."""
    factory = load(what, path)
    try:
        with seeded_generator(seed):
            module = factory(*arguments)
    except Exception as error:  # somebody's code may do anything
        given = ", ".join(str(argument) for argument in arguments)
        raise InputError(f"{what} '{path}' fails when called with ({given}): {said(error)}.") from error
    if not isinstance(module, nn.Module):
        raise InputError(
            f"{what} '{path}' returns {type(module).__name__}: return a torch.nn.Module from it."
        )
    return module


def foreign_network(path: str, input_shape: tuple[int, ...], classes: int, seed: int) -> nn.Module:
    """The network at the dotted path, returning (logits, features); its state dict keeps its own names."""
    network = built_by("network", path, (input_shape, classes), seed)
    _replace_dropout(path, network)
    network.register_forward_hook(_with_features)  # a module around it would put a prefix before every name
    return network


def _with_features(module: nn.Module, inputs: Any, output: Any) -> Any:
    """Features are the logits where a network returns nothing else."""
    return (output, output) if isinstance(output, Tensor) else output


def _replace_dropout(path: str, module: nn.Module) -> None:
    """Dropout that draws from torch's generator would tie a run to its neighbours."""
    for name, child in module._modules.items():  # `named_children` would pass over a layer used twice
        if isinstance(child, nn.Dropout):
            module._modules[name] = Dropout(child.p) if child.p else nn.Identity()
        elif isinstance(child, nn.modules.dropout._DropoutNd):
            raise InputError(
                f"network '{path}' has a {type(child).__name__}, which draws from torch's generator: "
                "use nn.Dropout."
            )
        elif child is not None:
            _replace_dropout(path, child)


def check_network(
    path: str, network: nn.Module, input_shape: tuple[int, ...], classes: int, *, head_bias: bool
) -> None:
    """Whether the network can be trained here; asked of two blank inputs."""
    _check_state(path, network)
    _check_generator(path, network)
    _check_buffers(path, network, input_shape)
    network.eval()
    try:
        with torch.no_grad():
            found = network(torch.zeros(2, *input_shape))
    except Exception as error:  # somebody's code may do anything
        raise InputError(
            f"network '{path}' fails on inputs of shape {list(input_shape)} ({said(error)}): repair it first."
        ) from error
    shapes = [list(part.shape) if isinstance(part, Tensor) else None for part in _parts(found)]
    if len(shapes) != 2 or shapes[0] != [2, classes] or not _is_matrix(shapes[1]):
        raise InputError(
            f"network '{path}' gives {_described(found)} for a batch of 2 inputs: return logits "
            f"[2, {classes}] or (logits, features [2, any])."
        )
    if not head_bias:
        _check_head(path, network, *found)


def _check_state(path: str, network: nn.Module) -> None:
    names: dict[int, str] = {}
    for name, tensor in network.state_dict(keep_vars=True).items():
        if is_lazy(tensor):
            raise InputError(f"network '{path}' has no shape yet for '{name}': use layers that are not lazy.")
        if id(tensor) in names:
            raise InputError(
                f"network '{path}' has one tensor under two names, '{names[id(tensor)]}' and '{name}': "
                "give each place its own layer."
            )
        names[id(tensor)] = name
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise InputError(f"network '{path}' has no parameter that learns: set requires_grad on some.")


def _check_generator(path: str, network: nn.Module) -> None:
    """Layers that draw from torch's generator would tie a run to its neighbours."""
    for name, layer in network.named_modules():
        draws = getattr(layer, "dropout", 0.0)
        if isinstance(layer, nn.RReLU) or (isinstance(draws, float) and draws > 0):
            raise InputError(
                f"network '{path}' has a {type(layer).__name__} ('{name}') that draws from torch's generator: "
                "set its dropout to 0 and put nn.Dropout layers beside it."
            )


def _check_buffers(path: str, network: nn.Module, input_shape: tuple[int, ...]) -> None:
    """A buffer that training replaces by a new tensor would be lost: rows lend theirs to one module."""
    before = dict(network.named_buffers())
    kept = {name: buffer.clone() for name, buffer in before.items()}
    network.train()
    try:
        with torch.no_grad():
            network(torch.zeros(2, *input_shape))
    except Exception:
        return  # what fails on two blank inputs in training may do in evaluation, which is asked next
    for name, buffer in network.named_buffers():
        if buffer is not before.get(name):
            raise InputError(
                f"network '{path}' puts a new tensor in the place of its buffer '{name}': change the buffer in "
                "place, for instance with copy_."
            )
    with torch.no_grad():
        for name, buffer in before.items():
            buffer.copy_(kept[name])


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


def _is_matrix(shape: list[int] | None) -> bool:
    return shape is not None and len(shape) == 2 and shape[0] == 2


def _described(found: Any) -> str:
    if isinstance(found, tuple | list) and len(found) == 2 and found[0] is found[1]:
        found = found[0]
    named = [
        str(list(part.shape)) if isinstance(part, Tensor) else type(part).__name__ for part in _parts(found)
    ]
    return ", ".join(named) or "nothing"

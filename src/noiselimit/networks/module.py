"""A user's own network or features, named by the dotted path of a factory such as 'package.module:factory'.

A network's factory is called with (input_shape, classes), that of features with (input_shape). What it
returns is checked before training starts, because K runs share one module and lend it their tensors by name.
"""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from noiselimit.dotted import load, user_code
from noiselimit.errors import InputError
from noiselimit.networks.network import Dropout, head_of

BATCH = 4  # inputs that a module is tried with

_GENERATOR_LOCK = threading.Lock()  # torch's generator is global, and blocks are built in threads


@contextmanager
def seeded_generator(seed: int) -> Iterator[None]:
    """Seed torch's generator within the block, for this thread alone, and restore it afterwards."""
    with _GENERATOR_LOCK, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def _build(what: str, path: str, arguments: tuple[Any, ...], seed: int) -> nn.Module:
    factory = load(what, path)
    with user_code(f"{what} '{path}' fails when called with {arguments}: {{}}."), seeded_generator(seed):
        module = factory(*arguments)
    if not isinstance(module, nn.Module):
        raise InputError(f"{what} '{path}' returns {type(module).__name__}: return a torch.nn.Module.")
    return module


def build_features(path: str, input_shape: tuple[int, ...], seed: int) -> tuple[nn.Module, tuple[int]]:
    """Build a user's features, with torch's generator at this seed; return them and their flattened shape."""
    features = _build("features", path, (input_shape,), seed).eval()
    _check_tensors("features", path, features)
    found = _call("features", path, features, input_shape)
    is_float = isinstance(found, Tensor) and found.is_floating_point()
    if not is_float or found.dim() < 2 or len(found) != BATCH:
        raise InputError(f"features '{path}' return {_shapes(found)}: return floats [{BATCH}, features].")
    return features, (math.prod(found.shape[1:]),)


def build_network(path: str, input_shape: tuple[int, ...], classes: int, seed: int) -> nn.Module:
    """Build a user's network, with torch's generator at this seed and dropout that draws from the run's.

    It returns (logits, features); if the user's returns logits alone, they are the features too.
    """
    network = _build("network", path, (input_shape, classes), seed)
    if any(isinstance(part, torch.jit.ScriptModule) for part in network.modules()):
        raise InputError(f"network '{path}' is compiled by torch.jit: return the module before compilation.")
    for parent in list(network.modules()):
        for name, child in parent._modules.items():
            if isinstance(child, nn.Dropout) and child.p:
                parent._modules[name] = Dropout(child.p)
    # A hook, because a module around the network would prefix every name.
    network.register_forward_hook(_add_features)
    return network


def _add_features(module: nn.Module, inputs: Any, output: Any) -> Any:  # not a lambda: it can be pickled
    return (output, output) if isinstance(output, Tensor) else output


def check_network(
    path: str, network: nn.Module, input_shape: tuple[int, ...], classes: int, *, head_bias: bool
) -> None:
    """Raise an InputError if the network cannot be trained; leaves it as it was, in evaluation mode."""
    _check_tensors("network", path, network)
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise InputError(f"network '{path}' has no trainable parameter: set requires_grad on some.")
    for name, layer in network.named_modules():
        if _draws(layer):
            kind = type(layer).__name__
            raise InputError(f"network '{path}' draws at random in {kind} '{name}': use nn.Dropout instead.")
    found = _call("network", path, network.eval(), input_shape)
    _check_output(path, found, classes)
    if not head_bias:
        _check_head(path, network, *found)
    trained = _call_in_training(path, network, input_shape)
    _check_output(path, trained, classes)
    if _shapes(found) != _shapes(trained):
        both = f"{_shapes(found)} in evaluation and {_shapes(trained)} in training"
        raise InputError(f"network '{path}' returns {both}: return the same.")


def _draws(layer: nn.Module) -> bool:
    """Whether the layer draws from torch's generator in training."""
    if isinstance(layer, nn.RNNBase | nn.MultiheadAttention):
        return bool(layer.dropout) and getattr(layer, "num_layers", 2) > 1
    return isinstance(layer, nn.RReLU) or (isinstance(layer, nn.modules.dropout._DropoutNd) and layer.p > 0)


def _check_tensors(what: str, path: str, module: nn.Module) -> None:
    """Every tensor needs a shape and one name."""
    names: dict[int, str] = {}
    for name, tensor in module.state_dict(keep_vars=True).items():
        if is_lazy(tensor):
            raise InputError(f"{what} '{path}': '{name}' has no shape yet, use layers that are not lazy.")
        if (other := names.setdefault(id(tensor), name)) != name:
            raise InputError(f"{what} '{path}': '{other}' and '{name}' are one tensor, use two layers.")


def _call(what: str, path: str, module: nn.Module, input_shape: tuple[int, ...], when: str = "") -> Any:
    varied = torch.arange(float(BATCH * math.prod(input_shape))).square().sin().reshape(BATCH, *input_shape)
    message = f"{what} '{path}' fails on inputs of shape {list(input_shape)}{when} ({{}}): fix it first."
    with user_code(message), seeded_generator(0), torch.no_grad():
        return module(varied)


def _call_in_training(path: str, network: nn.Module, input_shape: tuple[int, ...]) -> Any:
    """Call the network in training mode and restore its buffers.

    A buffer must be changed in place: a new tensor would be lost. It must be saved: else runs share it.
    """
    before = dict(network.named_buffers())
    copies = {name: buffer.clone() for name, buffer in before.items()}
    try:
        found = _call("network", path, network.train(), input_shape, " in training")
    finally:
        network.eval()
    saved = network.state_dict()
    for name, buffer in network.named_buffers():
        if name in saved and buffer is not before.get(name):
            raise InputError(f"network '{path}' replaces its buffer '{name}': change it with copy_.")
    for name, buffer in before.items():
        if name not in saved and not torch.equal(buffer, copies[name]):
            raise InputError(
                f"network '{path}' changes '{name}' in training: register the buffer with persistent=True."
            )
        buffer.copy_(copies[name])
    return found


def _check_output(path: str, found: Any, classes: int) -> None:
    shapes = _shapes(found)
    if len(shapes) != 2 or shapes[0] != [BATCH, classes] or len(shapes[1]) != 2 or shapes[1][0] != BATCH:
        expected = f"logits [{BATCH}, {classes}], or (logits, features [{BATCH}, any])"
        raise InputError(f"network '{path}' returns {shapes}: return {expected}.")


def _check_head(path: str, network: nn.Module, logits: Tensor, features: Tensor) -> None:
    """Without the bias of its last layer, a network must still be its head applied to its features."""
    head = head_of(network)
    if (
        head is None
        or features is logits
        or features.shape[1] != head.in_features
        or not torch.allclose(head(features), logits, rtol=1e-3, atol=1e-4)
    ):
        raise InputError(
            f"network '{path}' needs a last nn.Linear called 'head' or 'fc': return (logits, its inputs)."
        )


def _shapes(found: Any) -> list[Any]:
    parts = found if isinstance(found, tuple | list) else [found]
    return [list(part.shape) if isinstance(part, Tensor) else type(part).__name__ for part in parts]

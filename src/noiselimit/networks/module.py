"""Networks by dotted path: somebody else's factory(input_shape, classes), made to fit in here."""

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn
from torch.jit import ScriptModule
from torch.nn.parameter import is_lazy

from noiselimit.errors import InputError
from noiselimit.networks.dropout import Dropout
from noiselimit.networks.network import head_of, seeded_generator

_GIVEN: ContextVar[Mapping[str, Callable[..., Any]]] = ContextVar("given", default=MappingProxyType({}))


@contextmanager
def given_factories(factories: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """In here these factories stand for their dotted paths, which are not imported."""
    token = _GIVEN.set({canonical(path): factory for path, factory in factories.items()})
    try:
        yield
    finally:
        _GIVEN.reset(token)


def is_dotted(name: object) -> bool:
    """Whether it is written as 'package.module:factory' or 'package.module.factory'; imports nothing."""
    if not isinstance(name, str):
        return False
    module, colon, factory = name.partition(":")
    parts = [*module.split("."), *(factory.split(".") if colon else [])]
    return len(parts) > 1 and all(part.isidentifier() for part in parts)


def canonical(name: str) -> str:
    """'package.module.factory' as 'package.module:factory': one network, one run. Other names stay."""
    return ":".join(_split(name)) if is_dotted(name) else name


def load(what: str, path: str) -> Callable[..., Any]:
    """The factory at the dotted path; `what` names the option's thing in errors.

    The working folder is searched last, so that a file beside one's data is found from the command line too.
    """
    if (given := _GIVEN.get().get(path)) is not None:
        return given
    if not is_dotted(path):
        raise InputError(f"{what} '{path}' is no dotted path: write it as 'package.module:factory'.")
    module_name, attributes = _split(path)
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)  # for good: a factory may import more when it is called
    found: Any = _imported(what, path, module_name)
    for attribute in attributes.split("."):
        if not hasattr(found, attribute):
            raise InputError(
                f"{what} '{path}': {module_name} has no '{attribute}', so name a function or class in it."
            )
        found = getattr(found, attribute)
    if not callable(found):
        raise InputError(
            f"{what} '{path}' is {_a(found)}, which cannot be called: name a function that returns a module."
        )
    return found  # type: ignore[no-any-return]


def _split(path: str) -> tuple[str, str]:
    module, colon, attributes = path.partition(":")
    if colon:
        return module, attributes
    module, _, attribute = path.rpartition(".")
    return module, attribute


def _imported(what: str, path: str, module: str) -> Any:
    try:
        with somebodys_code(f"{what} '{path}' cannot be imported ({{}}): repair it first."):
            return import_module(module)
    except InputError as error:
        missing = error.__cause__.name if isinstance(error.__cause__, ModuleNotFoundError) else None
        if missing is None or not f"{module}.".startswith(f"{missing}."):
            raise
        remedy = "install it or start in the folder where it lies"
        if module.endswith(".py"):
            remedy = "write the path without '.py'"
        raise InputError(f"{what} '{path}': there is no module '{missing}', so {remedy}.") from None


@contextmanager
def somebodys_code(sentence: str) -> Iterator[None]:
    """Whatever goes wrong in here is said in this sentence, whose {} it fills; also an attempt to exit."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # somebody's code may do anything
        raise InputError(sentence.replace("{}", said(error))) from error


def said(error: BaseException) -> str:
    """The error in one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0].rstrip('.')}" if lines else type(error).__name__


def _a(thing: object) -> str:
    name = type(thing).__name__
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"


def check_state(what: str, path: str, module: nn.Module) -> None:
    """Whether every tensor has a shape and one name, as rows lend theirs to the module by name."""
    names: dict[int, str] = {}
    for name, tensor in module.state_dict(keep_vars=True).items():
        if is_lazy(tensor):
            raise InputError(f"{what} '{path}' has no shape yet for '{name}': use layers that are not lazy.")
        if id(tensor) in names:
            raise InputError(
                f"{what} '{path}' has one tensor under two names, '{names[id(tensor)]}' and '{name}': "
                "give each place its own layer."
            )
        names[id(tensor)] = name


def check_draws(path: str, network: nn.Module) -> None:
    """Layers that draw from torch's generator would tie a run to its neighbours."""
    for name, layer in network.named_modules():
        between_layers = isinstance(layer, nn.RNNBase) and layer.num_layers > 1
        if (between_layers or isinstance(layer, nn.MultiheadAttention)) and layer.dropout:
            remedy = "set its dropout to 0 and put nn.Dropout layers beside it"
        elif isinstance(layer, nn.RReLU) or draws_when_pooling(layer):
            remedy = "use another layer"
        else:
            continue
        raise InputError(
            f"network '{path}' has a {type(layer).__name__} ('{name}') that draws from torch's generator: "
            f"{remedy}."
        )


def draws_when_pooling(layer: nn.Module) -> bool:
    """Whether it pools at random places, which it does in evaluation too."""
    return (
        isinstance(layer, nn.FractionalMaxPool2d | nn.FractionalMaxPool3d) and layer._random_samples is None
    )


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


def built_by(what: str, path: str, arguments: tuple[Any, ...], seed: int) -> nn.Module:
    """The module that the factory at the dotted path makes, under this seed of torch's generator."""
    factory = load(what, path)
    given = ", ".join(str(argument) for argument in arguments)
    with (
        somebodys_code(f"{what} '{path}' fails when called with ({given}): {{}}."),
        seeded_generator(seed),
    ):
        module = factory(*arguments)
    if not isinstance(module, nn.Module):
        raise InputError(
            f"{what} '{path}' returns {type(module).__name__}: return a torch.nn.Module from it."
        )
    return module


def foreign_network(path: str, input_shape: tuple[int, ...], classes: int, seed: int) -> nn.Module:
    """The network at the dotted path, returning (logits, features); its state dict keeps its own names."""
    network = built_by("network", path, (input_shape, classes), seed)
    if any(isinstance(part, ScriptModule) for part in network.modules()):
        raise InputError(
            f"network '{path}' is compiled by torch.jit, or a part of it is: return the module before that."
        )
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

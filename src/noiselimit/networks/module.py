"""A user's own network or features: a module, a factory, or the name of one such as 'package.module:factory'.

A network's factory is called with (input_shape, classes), that of features with (input_shape). What it
returns is checked before training starts, because K runs share one module and pass it their tensors by name.
"""

import copy
import inspect
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from noiselimit.dotted import load, user_code
from noiselimit.errors import InputError
from noiselimit.networks.network import GENERATOR_LOCK, Draws, Dropout, head_of

BATCH = 4  # inputs that a module is tried with
SHAPES, CLASSES = ("input_shape", "shape"), ("classes", "num_classes", "n_classes", "num_labels")
"""Names of the arguments of a class or function that makes a network."""


@contextmanager
def seeded_generator(seed: int) -> Iterator[None]:
    """Seed torch's generator within the block, for this thread alone, and restore it afterwards."""
    with GENERATOR_LOCK, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def _build(what: str, path: str, arguments: tuple[Any, ...], seed: int) -> nn.Module:
    factory = load(what, path)
    with user_code(f"{what} '{path}' fails when called with {arguments}: {{}}."), seeded_generator(seed):
        if isinstance(factory, nn.Module):
            module: Any = adapted(factory, arguments[0], arguments[-1]) if what == "network" else factory
        elif what == "network":
            module = _call_factory(factory, *arguments)
        else:
            module = factory(*arguments)
    module = getattr(module, "_orig_mod", module)  # of torch.compile, which hooks do not reach
    scripted = what == "network" and isinstance(module, torch.jit.ScriptModule)
    if not isinstance(module, nn.Module) or scripted:
        raise InputError(f"{what} '{path}' returns {type(module).__name__}: return a plain torch.nn.Module.")
    return module


def _call_factory(factory: Any, input_shape: tuple[int, ...], classes: int) -> Any:
    """Call it with the shape and the number of classes, or with those of them that it takes."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # written in C
        return factory(input_shape, classes)
    needed = {
        each.name for each in parameters if each.default is each.empty and each.kind < each.VAR_POSITIONAL
    }
    kinds = {each.kind for each in parameters}
    named: dict[str, Any] = {each.name: input_shape for each in parameters if each.name in SHAPES}
    named |= {each.name: classes for each in parameters if each.name in CLASSES}
    if not needed <= named.keys() or inspect.Parameter.VAR_POSITIONAL in kinds:
        return factory(input_shape, classes)
    if not named and inspect.Parameter.VAR_KEYWORD in kinds:  # as in timm and torchvision
        return factory(num_classes=classes)
    if named or not kinds or inspect.isclass(factory):
        return factory(**named)
    return factory(input_shape, classes)


def adapted(
    module: nn.Module, input_shape: tuple[int, ...], classes: int, head: str | None = None
) -> nn.Module:
    """A copy of a network whose last layer has this many outputs.

    The last layer is the nn.Linear called `head` or, by default, the one that returns the logits. It keeps
    its weights if it has the right size.
    """
    module = copy.deepcopy(module).cpu()
    if head is None:
        made: list[tuple[str, Tensor]] = []
        hooks = [
            layer.register_forward_hook(lambda layer, inputs, output, name=name: made.append((name, output)))
            for name, layer in module.named_modules()
            if isinstance(layer, nn.Linear)
        ]
        training = module.training
        with torch.no_grad():
            logits = logits_of(module.eval()(_varied(input_shape)))
        module.train(training)
        for hook in hooks:
            hook.remove()
        if logits.shape[-1:] == (classes,) or not list(module.parameters()):
            return module
        shown = [name for name, output in made if torch.equal(output, logits)]
        if not shown:
            raise InputError(
                f"the network returns {list(logits.shape)} for {classes} classes, and its last layer was not "
                "found: name it, as in network=Pretrained(module, head='NAME')."
            )
        head = shown[-1]
    layer = dict(module.named_modules()).get(head)
    if not isinstance(layer, nn.Linear):
        raise InputError(f"the network has no nn.Linear called '{head}': see its named_modules().")
    if layer.out_features != classes:
        fresh = nn.Linear(layer.in_features, classes, bias=layer.bias is not None, dtype=layer.weight.dtype)
        if layer is module:
            return fresh
        parent, _, name = head.rpartition(".")
        setattr(module.get_submodule(parent), name, fresh)
    return module


class Pretrained:
    """A network to start from, as a factory: every run and both of its networks get a copy.

    Parameters
    ----------
    module : Module
    head : str, optional
        Name of its last nn.Linear, which is replaced if it has another number of classes.
    """

    def __init__(self, module: nn.Module, head: str | None = None) -> None:
        self.module, self.head = module, head

    def __call__(self, input_shape: tuple[int, ...], classes: int) -> nn.Module:
        return adapted(self.module, input_shape, classes, self.head)


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
    """Build a user's network, with torch's generator at this seed and draws that come from the run's.

    It returns (logits, features); if the user's returns no features [B, F], the logits are the features too.
    """
    network = _build("network", path, (input_shape, classes), seed)
    for parent in list(network.modules()):
        for name, child in parent._modules.items():
            if isinstance(child, nn.Dropout) and child.p:
                parent._modules[name] = Dropout(child.p)
    # A hook, because a module around the network would prefix every name.
    network.register_forward_hook(_as_pair)
    if _draws(network, input_shape):
        Draws.add_to(network)
    return network


def logits_of(output: Any) -> Tensor:
    """The logits in what a network returns."""
    found = output
    if isinstance(output, Mapping):
        found = output.get("logits")
    elif hasattr(output, "logits"):
        found = output.logits
    elif isinstance(output, tuple | list) and output:
        found = output[0]
    if not isinstance(found, Tensor):
        raise InputError(
            f"a network returned {type(output).__name__}: return logits, a tuple that starts with them, or a "
            "dict or object with 'logits'."
        )
    return found


def _as_pair(module: nn.Module, inputs: Any, output: Any) -> Any:  # not a lambda: it can be pickled
    logits = logits_of(output)
    if isinstance(output, tuple | list) and len(output) == 2 and not hasattr(output, "logits"):
        features = output[1]
        if isinstance(features, Tensor) and features.dim() == 2:
            return logits, features
    return logits, logits


def check_network(
    path: str, network: nn.Module, input_shape: tuple[int, ...], classes: int, *, head_bias: bool
) -> None:
    """Raise an InputError if the network cannot be trained; leaves it as it was, in evaluation mode."""
    _check_tensors("network", path, network)
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise InputError(f"network '{path}' has no trainable parameter: set requires_grad on some.")
    found = _call("network", path, network.eval(), input_shape)
    _check_output(path, found, classes)
    if not head_bias:
        _check_head(path, network, *found)
    trained = _call_in_training(path, network, input_shape)
    _check_output(path, trained, classes)
    if _shapes(found) != _shapes(trained):
        both = f"{_shapes(found)} in evaluation and {_shapes(trained)} in training"
        raise InputError(f"network '{path}' returns {both}: return the same.")


def _draws(network: nn.Module, input_shape: tuple[int, ...]) -> bool:
    """Whether the network draws from torch's generator in training; False if it fails, too."""
    with seeded_generator(0), torch.no_grad():
        before = torch.get_rng_state()
        try:
            copy.deepcopy(network).train()(_varied(input_shape))
        except Exception:  # `check_network` says what is wrong
            return False
        return not torch.equal(before, torch.get_rng_state())


def _check_tensors(what: str, path: str, module: nn.Module) -> None:
    """Every tensor needs a shape and one name."""
    names: dict[int, str] = {}
    for name, tensor in module.state_dict(keep_vars=True).items():
        if is_lazy(tensor):
            raise InputError(f"{what} '{path}': '{name}' has no shape yet; use layers that are not lazy.")
        if (other := names.setdefault(id(tensor), name)) != name:
            raise InputError(f"{what} '{path}': '{other}' and '{name}' are one tensor; use two layers.")


def _call(what: str, path: str, module: nn.Module, input_shape: tuple[int, ...], when: str = "") -> Any:
    message = f"{what} '{path}' fails on inputs of shape {list(input_shape)}{when} ({{}}): fix it first."
    with user_code(message), seeded_generator(0), torch.no_grad():
        return module(_varied(input_shape))


def _varied(input_shape: tuple[int, ...]) -> Tensor:
    """[BATCH, ...] inputs that differ."""
    return torch.arange(float(BATCH * math.prod(input_shape))).square().sin().reshape(BATCH, *input_shape)


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

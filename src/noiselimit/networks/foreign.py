"""Networks by dotted path: somebody else's factory(input_shape, classes), made to fit in here."""

from typing import Any

from torch import Tensor, nn
from torch.jit import ScriptModule

from noiselimit.errors import InputError
from noiselimit.networks.dotted import load, somebodys_code
from noiselimit.networks.dropout import Dropout
from noiselimit.networks.generator import seeded_generator


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

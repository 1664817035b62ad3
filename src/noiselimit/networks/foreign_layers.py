"""Layers in somebody else's modules that cannot run here, found without running them."""

from torch import nn
from torch.nn.parameter import is_lazy

from noiselimit.errors import InputError


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

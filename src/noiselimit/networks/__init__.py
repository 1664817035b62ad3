"""The networks by name. A public module here that defines NETWORKS is found by itself; no list to keep."""

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from noiselimit.errors import unknown
from noiselimit.networks.network import Network

__all__ = ["NETWORKS", "Network", "fitting_network", "get_network"]


def _discover() -> dict[str, Network]:
    modules = (import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__))
    return {network.name: network for module in modules for network in getattr(module, "NETWORKS", ())}


NETWORKS: Mapping[str, Network] = MappingProxyType(_discover())


def get_network(name: str) -> Network:
    """The network of that name, or an error that suggests the nearest one."""
    if name not in NETWORKS:
        raise unknown("network", name, [*NETWORKS, "auto"])
    return NETWORKS[name]


def fitting_network(input_shape: tuple[int, ...]) -> str:
    """The name of the network that 'auto' stands for."""
    if len(input_shape) != 3:
        return "mlp"
    return "mnist-cnn" if input_shape == (1, 28, 28) else "small-cnn"

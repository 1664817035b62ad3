"""The networks by name. A module here that defines NETWORKS is found by itself."""

from noiselimit.networks.architecture import Architecture, check_name, is_dotted
from noiselimit.networks.initial import Role
from noiselimit.networks.network import Network
from noiselimit.registry import discover, find

__all__ = [
    "NETWORKS",
    "Architecture",
    "Network",
    "Role",
    "check_name",
    "fitting_network",
    "get_network",
    "is_dotted",
]

NETWORKS = discover(__name__, "NETWORKS", Network)


def get_network(name: str) -> Network:
    """The network of that name, or an error that suggests the nearest one."""
    return find("network", name, NETWORKS)


def fitting_network(input_shape: tuple[int, ...]) -> str:
    """The name of the network that 'auto' stands for."""
    if len(input_shape) != 3:
        return "mlp"
    return "mnist-cnn" if input_shape == (1, 28, 28) else "small-cnn"

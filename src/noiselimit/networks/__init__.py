"""Networks by name: every module here that defines NETWORKS adds to the table."""

from noiselimit.dotted import is_dotted
from noiselimit.networks.architecture import Architecture, Role, check_name
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
    """Return the network with this name; an unknown name is an error that suggests the nearest one."""
    return find("network", name, NETWORKS)


def fitting_network(input_shape: tuple[int, ...]) -> str:
    """Return the name of the network that 'auto' stands for."""
    if len(input_shape) != 3:
        return "mlp"
    return "mnist-cnn" if input_shape == (1, 28, 28) else "small-cnn"

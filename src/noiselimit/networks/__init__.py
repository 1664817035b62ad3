"""Networks by name, and how a run builds its own."""

from noiselimit.networks.architecture import (
    NETWORKS,
    Architecture,
    Role,
    check_name,
    fitting_network,
    is_own,
    network_name,
)
from noiselimit.networks.module import Pretrained
from noiselimit.networks.network import Network
from noiselimit.networks.pretrained import WeightsFile, read_weights_file, with_pretrained

__all__ = [
    "NETWORKS",
    "Architecture",
    "Network",
    "Pretrained",
    "Role",
    "WeightsFile",
    "check_name",
    "fitting_network",
    "is_own",
    "network_name",
    "read_weights_file",
    "with_pretrained",
]

"""Networks by name, and how a run builds its own."""

from noiselimit.dotted import is_dotted
from noiselimit.networks.architecture import NETWORKS, Architecture, Role, check_name, fitting_network
from noiselimit.networks.network import Network

__all__ = ["NETWORKS", "Architecture", "Network", "Role", "check_name", "fitting_network", "is_dotted"]

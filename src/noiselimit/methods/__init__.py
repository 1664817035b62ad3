"""The methods by name. A module here that defines METHODS is found by itself."""

from noiselimit.methods.method import Batch, Hyper, Method, gap, onehot
from noiselimit.registry import discover, find

__all__ = ["METHODS", "Batch", "Hyper", "Method", "gap", "get_method", "onehot"]

METHODS = discover(__name__, "METHODS", Method)


def get_method(name: str) -> Method:
    """The method of that name, or an error that suggests the nearest one."""
    return find("method", name, METHODS)

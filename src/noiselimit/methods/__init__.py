"""Training methods by name: every module here that defines METHODS adds to the table."""

from noiselimit.methods.method import Batch, Hyper, Method, gap, onehot
from noiselimit.registry import discover, find

__all__ = ["METHODS", "Batch", "Hyper", "Method", "gap", "get_method", "onehot"]

METHODS = discover(__name__, "METHODS", Method)


def get_method(name: str) -> Method:
    """Return the method with this name; an unknown name is an error that suggests the nearest one."""
    return find("method", name, METHODS)

"""Training methods by name: every module here that defines METHODS adds to the table."""

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from noiselimit.errors import unknown
from noiselimit.methods.method import Batch, Hyper, Method, gap, onehot

__all__ = ["METHODS", "Batch", "Hyper", "Method", "gap", "get_method", "onehot"]

METHODS: Mapping[str, Method] = {
    method.name: method
    for found in pkgutil.iter_modules(__path__)
    for method in getattr(import_module(f"{__name__}.{found.name}"), "METHODS", ())
}


def get_method(name: str) -> Method:
    """Return the method with this name; an unknown name is an error that suggests the nearest one."""
    if not isinstance(name, str) or name not in METHODS:
        raise unknown("method", name, METHODS)
    return METHODS[name]

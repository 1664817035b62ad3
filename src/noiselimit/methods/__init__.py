"""The methods by name. A public module here that defines METHODS is found by itself; no list to keep."""

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from noiselimit.errors import unknown
from noiselimit.methods.method import Batch, Hyper, Method, gap, onehot

__all__ = ["METHODS", "Batch", "Hyper", "Method", "gap", "get_method", "onehot"]


def _discover() -> dict[str, Method]:
    modules = (import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__))
    return {method.name: method for module in modules for method in getattr(module, "METHODS", ())}


METHODS: Mapping[str, Method] = MappingProxyType(_discover())


def get_method(name: str) -> Method:
    """The method of that name, or an error that suggests the nearest one."""
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    return METHODS[name]

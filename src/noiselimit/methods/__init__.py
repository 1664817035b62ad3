"""Training methods by name: every module here that defines METHODS adds to the table, and so can you."""

import pkgutil
from importlib import import_module
from typing import Any

from noiselimit.dotted import Named, canonical, is_dotted, load
from noiselimit.errors import InputError, unknown
from noiselimit.methods.method import Batch, Hyper, Method, gap, onehot
from noiselimit.registry import Registry

__all__ = ["METHODS", "Batch", "Hyper", "Method", "gap", "get_method", "method_name", "onehot"]

METHODS: Registry[Method] = Registry(
    "method",
    "noiselimit.methods",
    "noiselimit.methods.METHODS",
    {
        method.name: method
        for found in pkgutil.iter_modules(__path__)
        for method in getattr(import_module(f"{__name__}.{found.name}"), "METHODS", ())
    },
    lambda value: isinstance(value, Method),
    "a noiselimit.methods.Method",
)


def get_method(name: str) -> Method:
    """Return the method with this name or dotted path; an unknown name suggests the nearest one."""
    if not isinstance(name, str) or not (is_dotted(name) or isinstance(name, Named) or name in METHODS):
        raise unknown("method", name, METHODS, ", or your own as 'package.module:METHOD'")
    found: Any = load("method", name)
    if not isinstance(found, Method):
        raise InputError(f"method '{name}' is {found!r}: it must be a noiselimit.methods.Method.")
    return found


def method_name(method: object) -> str:
    """The name of a method that a user gives as a name or a `Method`."""
    if not isinstance(method, Method):
        return canonical(method) if isinstance(method, str) else get_method(method)  # type: ignore
    return METHODS.name_of(method)

"""Registries: every module of a package adds what it defines, so no list is kept by hand."""

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Protocol, TypeVar

from noiselimit.errors import unknown


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str:
        """What users type."""


T = TypeVar("T", bound=Named)


def discover(package: str, attribute: str, kind: type[T]) -> Mapping[str, T]:
    """Collect, by name, what the package's modules define in a tuple called `attribute`."""
    modules = (
        import_module(f"{package}.{found.name}")
        for found in pkgutil.iter_modules(import_module(package).__path__)
    )
    things = [thing for module in modules for thing in getattr(module, attribute, ())]
    known = {thing.name: thing for thing in things if isinstance(thing, kind)}
    assert len(known) == len(things), f"{attribute} of {package} has a duplicate name or a wrong type"
    return MappingProxyType(known)


def find(what: str, name: object, known: Mapping[str, T]) -> T:
    """Look up a name; the error for an unknown one suggests the closest."""
    if not isinstance(name, str) or name not in known:
        raise unknown(what, name, known)
    return known[name]

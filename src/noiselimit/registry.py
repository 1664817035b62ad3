"""Named things that announce themselves: a package's modules are its list of ideas, and no list is kept."""

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Protocol, TypeVar

from noiselimit.errors import unknown


class Named(Protocol):
    """Anything with a name of its own."""

    @property
    def name(self) -> str:
        """What people type."""


T = TypeVar("T", bound=Named)


def discover(package: str, attribute: str, kind: type[T]) -> Mapping[str, T]:
    """By name, everything of this kind that the package's modules hold in a tuple called `attribute`."""
    modules = (
        import_module(f"{package}.{found.name}")
        for found in pkgutil.iter_modules(import_module(package).__path__)
    )
    things = [thing for module in modules for thing in getattr(module, attribute, ())]
    known = {thing.name: thing for thing in things if isinstance(thing, kind)}
    assert len(known) == len(things), f"{attribute} of {package} has two things of one name, or a foreign one"
    return MappingProxyType(known)


def find(what: str, name: object, known: Mapping[str, T]) -> T:
    """The thing of that name, or an error that suggests the nearest one."""
    if not isinstance(name, str) or name not in known:
        raise unknown(what, name, known)
    return known[name]

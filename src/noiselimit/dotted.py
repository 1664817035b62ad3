"""A user's own code, named by a dotted path such as 'package.module:factory'."""

import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from noiselimit.errors import InputError

Factories = Mapping[str, Callable[..., Any]]
TABLES: dict[str, Mapping[str, Any]] = {}
"""What a name may be that is no path, by kind; see `noiselimit.registry`."""


class Named(str):
    """The name of an object that no other process can import, together with the object."""

    value: Any

    def __format__(self, how: str) -> str:
        """The name as messages show it."""
        return format(self[4:].rpartition("_")[0] if self.startswith("own:") else str(self), how)

    def __new__(cls, name: str, value: Any) -> Self:
        named = super().__new__(cls, name)
        named.value = value
        return named

    def __getnewargs__(self) -> tuple[str, Any]:  # type: ignore[override]
        return str(self), self.value

    @classmethod
    def of(cls, value: Any) -> Self:
        """A name that no other living object has."""
        own = getattr(value, "__qualname__", getattr(value, "name", None))  # of a class, or of a method
        kind = (own if isinstance(own, str) else type(value).__name__).rpartition(".")[2].strip("<>")
        return cls(f"own:{kind}_{id(value):x}", value)


def find(value: Any) -> str | None:
    """The dotted path of an object that a module has under its own name; None if there is none."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    path = f"{module}:{name}"
    if module == "__main__" or module not in sys.modules or not is_dotted(path):
        return None
    try:
        return path if operator.attrgetter(name)(sys.modules[module]) is value else None
    except AttributeError:
        return None


_OVERRIDES: ContextVar[Factories] = ContextVar("overrides", default=MappingProxyType({}))


@contextmanager
def override_factories(factories: Factories) -> Iterator[None]:
    """Use these factories for their dotted paths within the block, instead of importing the paths."""
    token = _OVERRIDES.set({canonical(path): factory for path, factory in factories.items()})
    try:
        yield
    finally:
        _OVERRIDES.reset(token)


def is_dotted(name: object) -> bool:
    """Return whether it reads 'package.module:factory' or 'package.module.factory'; imports nothing."""
    if not isinstance(name, str):
        return False
    module, colon, factory = name.partition(":")
    parts = [*module.split("."), *(factory.split(".") if colon else [])]
    return len(parts) > 1 and all(part.isidentifier() for part in parts)


def canonical(name: str) -> str:
    """Return a dotted path with a colon, so that both spellings make one run; other names stay."""
    return ":".join(_split(name)) if is_dotted(name) and not isinstance(name, Named) else name


def _split(path: str) -> tuple[str, str]:
    module, _, attributes = path.partition(":") if ":" in path else path.rpartition(".")
    return module, attributes


def load(what: str, path: str) -> Callable[..., Any]:
    """The object with this name: a `Named` one, one of a table, or that at a dotted path.

    Modules are searched in the working folder last; `what` names the table.
    """
    if (override := _OVERRIDES.get().get(path)) is not None:
        return override
    if isinstance(path, Named):
        return path.value  # type: ignore[no-any-return]
    if path in TABLES.get(what, ()):
        return TABLES[what][path]  # type: ignore[no-any-return]
    module, attributes = _split(path)
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)  # not removed again: a factory may import more when it is called
    with user_code(f"{what} '{path}' cannot be imported ({{}}): fix it, or run in the folder that has it."):
        return operator.attrgetter(attributes)(import_module(module))  # type: ignore[no-any-return]


@contextmanager
def user_code(message: str) -> Iterator[None]:
    """Turn any exception, also SystemExit, into an InputError with the exception in the message's {}."""
    try:
        yield
    except (KeyboardInterrupt, InputError):
        raise
    except BaseException as error:
        lines = str(error).strip().splitlines()
        reason = f"{type(error).__name__}: {lines[0].rstrip('.')}" if lines else type(error).__name__
        raise InputError(message.replace("{}", reason)) from error

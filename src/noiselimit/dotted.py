"""A user's own code, named by a dotted path such as 'package.module:factory'."""

import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from noiselimit.errors import InputError

Factories = Mapping[str, Callable[..., Any]]

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
    return ":".join(_split(name)) if is_dotted(name) else name


def _split(path: str) -> tuple[str, str]:
    module, _, attributes = path.partition(":") if ":" in path else path.rpartition(".")
    return module, attributes


def load(what: str, path: str) -> Callable[..., Any]:
    """Import the factory at a dotted path, searching the working folder last; `what` is for messages."""
    if (override := _OVERRIDES.get().get(path)) is not None:
        return override
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
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        lines = str(error).strip().splitlines()
        reason = f"{type(error).__name__}: {lines[0].rstrip('.')}" if lines else type(error).__name__
        raise InputError(message.replace("{}", reason)) from error

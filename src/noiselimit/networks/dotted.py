"""Dotted paths of somebody else's factories. A path is only text until `load` imports it and so runs code."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from noiselimit.errors import InputError

_GIVEN: ContextVar[Mapping[str, Callable[..., Any]]] = ContextVar("given", default=MappingProxyType({}))


@contextmanager
def given_factories(factories: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """In here these factories stand for their dotted paths, which are not imported."""
    token = _GIVEN.set({canonical(path): factory for path, factory in factories.items()})
    try:
        yield
    finally:
        _GIVEN.reset(token)


def is_dotted(name: object) -> bool:
    """Whether it is written as 'package.module:factory' or 'package.module.factory'; imports nothing."""
    if not isinstance(name, str):
        return False
    module, colon, factory = name.partition(":")
    parts = [*module.split("."), *(factory.split(".") if colon else [])]
    return len(parts) > 1 and all(part.isidentifier() for part in parts)


def canonical(name: str) -> str:
    """'package.module.factory' as 'package.module:factory': one network, one run. Other names stay."""
    return ":".join(_split(name)) if is_dotted(name) else name


def load(what: str, path: str) -> Callable[..., Any]:
    """The factory at the dotted path; `what` names the option's thing in errors.

    The working folder is searched last, so that a file beside one's data is found from the command line too.
    """
    if (given := _GIVEN.get().get(path)) is not None:
        return given
    if not is_dotted(path):
        raise InputError(f"{what} '{path}' is no dotted path: write it as 'package.module:factory'.")
    module_name, attributes = _split(path)
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)  # for good: a factory may import more when it is called
    found: Any = _imported(what, path, module_name)
    for attribute in attributes.split("."):
        if not hasattr(found, attribute):
            raise InputError(
                f"{what} '{path}': {module_name} has no '{attribute}', so name a function or class in it."
            )
        found = getattr(found, attribute)
    if not callable(found):
        raise InputError(
            f"{what} '{path}' is {_a(found)}, which cannot be called: name a function that returns a module."
        )
    return found  # type: ignore[no-any-return]


def _split(path: str) -> tuple[str, str]:
    module, colon, attributes = path.partition(":")
    if colon:
        return module, attributes
    module, _, attribute = path.rpartition(".")
    return module, attribute


def _imported(what: str, path: str, module: str) -> Any:
    try:
        with somebodys_code(f"{what} '{path}' cannot be imported ({{}}): repair it first."):
            return import_module(module)
    except InputError as error:
        missing = error.__cause__.name if isinstance(error.__cause__, ModuleNotFoundError) else None
        if missing is None or not f"{module}.".startswith(f"{missing}."):
            raise
        remedy = "install it or start in the folder where it lies"
        if module.endswith(".py"):
            remedy = "write the path without '.py'"
        raise InputError(f"{what} '{path}': there is no module '{missing}', so {remedy}.") from None


@contextmanager
def somebodys_code(sentence: str) -> Iterator[None]:
    """Whatever goes wrong in here is said in this sentence, whose {} it fills; also an attempt to exit."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # somebody's code may do anything
        raise InputError(sentence.replace("{}", said(error))) from error


def said(error: BaseException) -> str:
    """The error in one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0].rstrip('.')}" if lines else type(error).__name__


def _a(thing: object) -> str:
    name = type(thing).__name__
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"

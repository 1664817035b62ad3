"""Dataclass fields that describe their own command-line option."""

from dataclasses import field
from typing import Any, TypeVar

T = TypeVar("T")


def option(default: T, help: str, **metadata: Any) -> T:
    """Declare a dataclass field together with the help text of its command-line option.

    Of the `metadata`, `shown` is the default as --help prints it, if that is not the value itself; `metavar`
    is what the option takes; `name` is the option's name if it is not the field's.
    """
    result: T = field(default=default, metadata={"help": help, **metadata})
    return result

"""Dataclass fields that describe their own command-line option."""

from dataclasses import field
from typing import Any, TypeVar

T = TypeVar("T")


def option(default: T, help: str, **metadata: Any) -> T:
    """Declare a dataclass field together with the help text of its command-line option.

    Of the `metadata`, `shown` is the default as --help prints it, if that is not the value itself; `metavar`
    is what the option takes; `name` is the option's name if it is not the field's; `min` is the smallest
    value of a number. `RunSpec` also checks values by them: `whole` numbers from that one on, numbers from 0
    to `below`, or one of the `names`.
    """
    result: T = field(default=default, metadata={"help": help, **metadata})
    return result

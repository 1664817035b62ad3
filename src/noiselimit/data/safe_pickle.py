"""Pickles of plain values, read without Python's unpickler, so that nothing in a file can run.

A pickle is a program for a small stack machine. Ours knows the instructions that build arrays of numbers,
lists, tuples, dictionaries, strings, bytes and numbers; it imports nothing and calls nothing that a file
names, so any other instruction or name is refused for want of a meaning.
"""

import math
import pickletools
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.errors import InputError
from noiselimit.files import read_bytes

NUMBER_TYPES = re.compile(r"b1|[iu][1248]|f[248]")
MOST_DIMENSIONS = 8


class Name(Enum):
    """A name that a pickle of an array may mention."""

    BYTES = auto()
    ENCODE = auto()
    RECONSTRUCT = auto()
    ARRAY = auto()
    TYPE = auto()


# As pickletools spells a global; NumPy moved numpy.core to numpy._core in version 2.
NAMES = {
    "__builtin__ bytes": Name.BYTES,
    "_codecs encode": Name.ENCODE,
    "numpy.core.multiarray _reconstruct": Name.RECONSTRUCT,
    "numpy._core.multiarray _reconstruct": Name.RECONSTRUCT,
    "numpy ndarray": Name.ARRAY,
    "numpy dtype": Name.TYPE,
}


@dataclass(eq=False)
class PendingType:
    """The type of an array's numbers: first its code, such as u1, then its byte order."""

    code: str
    order: str | None = None

    def finished(self) -> "PendingType":
        return self


@dataclass(eq=False)
class PendingArray:
    """An array that is announced first and described later, as pickles do it."""

    values: npt.NDArray[Any] | None = None

    def finished(self) -> "npt.NDArray[Any] | PendingArray":
        return self if self.values is None else self.values


def call(function: Any, arguments: Any) -> bytes | PendingArray | PendingType | None:
    """What the call of a name means; None where it has no meaning."""
    match function, arguments:
        # Python 3 has two ways to write bytes in protocol 2.
        case Name.BYTES, ():
            return b""
        case Name.ENCODE, (str(text), "latin1"):
            return text.encode("latin-1")
        case Name.RECONSTRUCT, (Name.ARRAY, (0,), b"b"):
            return PendingArray()
        case Name.TYPE, (code, 0 | 1, 0 | 1) if NUMBER_TYPES.fullmatch(_text(code)):
            return PendingType(_text(code))
    return None


def build(target: PendingArray | PendingType, state: Any) -> bool:
    """Complete the array or type; false where the state is not that of plain numbers."""
    match target, state:
        case PendingType(), (3, order, None, None, None, -1, -1, 0) if _text(order) in ("<", ">", "|", "="):
            target.order = _text(order)
            return True
        case PendingArray(), (
            1,
            tuple(shape),
            PendingType(code, str(order)),
            0 | 1 as column_major,
            bytes(data),
        ):
            target.values = _array(data, np.dtype(order + code), shape, "F" if column_major else "C")
            return True
    return False


def _array(data: bytes, dtype: np.dtype[Any], shape: tuple[Any, ...], order: Any) -> npt.NDArray[Any]:
    """A view of the bytes as numbers; a shape that does not fit them is a ValueError."""
    if len(shape) > MOST_DIMENSIONS or not all(type(size) is int and 0 <= size < 2**31 for size in shape):
        raise ValueError("impossible shape")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError("the array's bytes do not fill its shape")
    return np.frombuffer(data, dtype).reshape(shape, order=order)


def _text(value: Any) -> str:
    """A string, also where Python 2 wrote it."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else ""


class NotPlainError(Exception):
    """What in a pickle is more than plain values, to stand after 'it holds'."""


class Machine:
    """A stack, where lists and dictionaries grow above marks, and a memo of values to use again."""

    def __init__(self, size: int) -> None:
        """`size` is that of the file in bytes."""
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # the stacks beneath the open marks
        self.memo: dict[int, Any] = {}
        self.text_left = size  # bytes that may still be made of text: no honest file makes more than it has

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        return self.stack.pop()

    def open_mark(self) -> None:
        self.below.append(self.stack)
        self.stack = []

    def close_mark(self) -> list[Any]:
        items = self.stack
        self.stack = self.below.pop()
        return items

    def push_tuple(self, length: int) -> None:
        items = [self.pop() for _ in range(length)]
        self.push(tuple(reversed(items)))

    def extend(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise NotPlainError("items that are put into something other than a list")
        self.stack[-1].extend(items)

    def update(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is not dict:
            raise NotPlainError("items that are put into something other than a dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) not in (str, bytes):  # hashing tuples of tuples can take for ever
                raise NotPlainError(f"a dictionary key of type {type(key).__name__}")
            self.stack[-1][key] = value

    def update_one(self) -> None:
        value, key = self.pop(), self.pop()
        self.update([key, value])

    def remember(self, number: int) -> None:
        self.memo[number] = self.stack[-1]

    def recall(self, number: int) -> None:
        value = self.memo[number]
        self.push(value.finished() if isinstance(value, PendingArray) else value)

    def push_name(self, name: str) -> None:
        if name not in NAMES:
            raise NotPlainError(f"the name {ascii(name.replace(' ', '.'))[1:-1][:80]}")
        self.push(NAMES[name])

    def push_name_from_stack(self) -> None:
        name, module = self.pop(), self.pop()
        if type(name) is not str or type(module) is not str:
            raise NotPlainError("a name that is no text")
        self.push_name(f"{module} {name}")

    def call(self) -> None:
        arguments, function = self.pop(), self.pop()
        result = call(function, arguments)
        if result is None:
            raise NotPlainError("a call that makes no array of numbers")
        if isinstance(result, bytes):
            self.text_left -= len(result)
            if self.text_left < 0:
                raise NotPlainError("one text over and over")
        self.push(result)

    def build(self) -> None:
        state, target = self.pop(), self.pop()
        if not isinstance(target, PendingArray | PendingType) or not build(target, state):
            raise NotPlainError("a state that is not that of an array of numbers")
        self.push(target.finished())


MOST_BYTES = 512 * 2**20  # CIFAR-100's training file, the largest that is read so, has 155 MB
MOST_STEPS = 2_000_000  # that file takes 300,000; a step may allocate some hundred bytes

DAMAGED = (ValueError, TypeError, KeyError, IndexError, OverflowError)


def read_pickle(path: Path) -> Any:
    """The value in a pickle file; text that Python 2 wrote comes as bytes."""
    try:
        content = read_bytes(path, MOST_BYTES)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name the right file.") from None
    return plain_value(content, str(path))


def plain_value(content: bytes, source: str) -> Any:
    """The value that the pickle describes; `source` names it in messages."""
    try:
        return _run(content)
    except NotPlainError as error:
        raise InputError(
            f"{source}: refused because it holds {error}, and only arrays of numbers, lists, dictionaries, "
            "strings and numbers are read from a pickle; fetch the official file again."
        ) from None
    except DAMAGED:
        raise InputError(f"{source}: the pickle is damaged or cut off; fetch the file again.") from None


def _run(content: bytes) -> Any:
    machine = Machine(len(content))
    for count, (instruction, argument, _) in enumerate(pickletools.genops(content)):
        if instruction.name == "STOP":
            return machine.pop()
        if count >= MOST_STEPS:
            raise NotPlainError(f"more than {MOST_STEPS:,} instructions")
        step = STEPS.get(instruction.name)
        if step is None:
            raise NotPlainError(f"the instruction {instruction.name}")
        step(machine, argument)
    raise ValueError("no end")  # which pickletools says before


STEPS: dict[str, Callable[[Machine, Any], None]] = {
    "PROTO": lambda machine, _: None,
    "FRAME": lambda machine, _: None,
    "NONE": lambda machine, _: machine.push(None),
    "NEWTRUE": lambda machine, _: machine.push(True),
    "NEWFALSE": lambda machine, _: machine.push(False),
    **dict.fromkeys(("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"), Machine.push),
    **dict.fromkeys(("BINUNICODE", "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES"), Machine.push),
    # Python 2's strings, which pickletools shows as Latin-1.
    "BINSTRING": lambda machine, text: machine.push(text.encode("latin-1")),
    "SHORT_BINSTRING": lambda machine, text: machine.push(text.encode("latin-1")),
    "EMPTY_LIST": lambda machine, _: machine.push([]),
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "EMPTY_TUPLE": lambda machine, _: machine.push(()),
    "MARK": lambda machine, _: machine.open_mark(),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.close_mark())),
    "TUPLE1": lambda machine, _: machine.push_tuple(1),
    "TUPLE2": lambda machine, _: machine.push_tuple(2),
    "TUPLE3": lambda machine, _: machine.push_tuple(3),
    "APPEND": lambda machine, _: machine.extend([machine.pop()]),
    "APPENDS": lambda machine, _: machine.extend(machine.close_mark()),
    "SETITEM": lambda machine, _: machine.update_one(),
    "SETITEMS": lambda machine, _: machine.update(machine.close_mark()),
    "BINPUT": Machine.remember,
    "LONG_BINPUT": Machine.remember,
    "MEMOIZE": lambda machine, _: machine.remember(len(machine.memo)),
    "BINGET": Machine.recall,
    "LONG_BINGET": Machine.recall,
    "GLOBAL": Machine.push_name,
    "STACK_GLOBAL": lambda machine, _: machine.push_name_from_stack(),
    "REDUCE": lambda machine, _: machine.call(),
    "BUILD": lambda machine, _: machine.build(),
}

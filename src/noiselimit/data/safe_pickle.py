"""Pickles of plain values, read without Python's unpickler, so that nothing in a file can run.

A pickle is a program for a small stack machine. Ours knows the instructions that build arrays of numbers,
lists, tuples, dictionaries, strings, bytes and numbers; it imports nothing and calls nothing that a file
names, so any other instruction or name is refused for want of a meaning.
"""

import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from noiselimit.data.pickle_machine import Machine, NotPlainError
from noiselimit.errors import InputError
from noiselimit.opening import read_bytes

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

"""The stack machine that a pickle is a program for, without the means to import or to run anything."""

from typing import Any

from noiselimit.data.safe_arrays import NAMES, PendingArray, PendingType, build, call


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

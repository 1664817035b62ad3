"""Open tables: what the package has, what a program registers, and what installed packages declare."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from noiselimit.dotted import TABLES, Named, find, is_dotted, user_code
from noiselimit.errors import InputError

Value = TypeVar("Value")
NAME = re.compile(r"[\w.-]+")
"""What can be typed as an option, and read again; endings of files start with a dot."""


@lru_cache(maxsize=16)
def _declared(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Entry points of the packages on this `sys.path`, by name; imports none of them."""
    return {each.name: each for each in entry_points(group=group)}


class Registry(Mapping[str, Value]):
    """Name → value.

    A package adds to it with an entry point, and is imported when the name is first used; a program adds with
    `register`. The names of noiselimit itself stay.

    Parameters
    ----------
    what : what it holds, in messages.
    group : the group of entry points.
    place : where users find the table.
    own : the values of noiselimit.
    fits : whether something can be a value; `wanted` says in messages what can.
    """

    def __init__(
        self,
        what: str,
        group: str,
        place: str,
        own: Mapping[str, Value],
        fits: Callable[[Any], bool],
        wanted: str,
    ) -> None:
        self.what, self.group, self.place, self.own = what, group, place, own
        self._fits, self._wanted = fits, wanted
        self._added: dict[str, Value] = {}
        TABLES[what] = self

    def register(self, name: str, value: Value) -> None:
        """Add a value, or replace one that was added."""
        if not isinstance(name, str) or not NAME.fullmatch(name) or name in self.own or is_dotted(name):
            raise InputError(
                f"{self.what} {name!r} needs another name: this one is taken, or is not made of letters, "
                "digits, '-' and '_'."
            )
        self._added[name] = self._checked(name, value)

    def _checked(self, name: str, value: Any) -> Value:
        if not self._fits(value):
            raise InputError(f"{self.what} '{name}' is {value!r}: it must be {self._wanted}.")
        found: Value = value
        return found

    def _entries(self) -> dict[str, EntryPoint]:
        return _declared(self.group, tuple(sys.path))

    def __getitem__(self, name: str) -> Value:
        for table in (self.own, self._added):
            if name in table:
                return table[name]
        entry = self._entries()[name]
        package = entry.dist.name if entry.dist else entry.module
        with user_code(f"{self.what} '{name}' of package '{package}' cannot be imported ({{}}): repair it."):
            found = entry.load()
        return self._checked(name, found)

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self._added or name in self._entries()

    def __iter__(self) -> Iterator[str]:
        return iter({**self.own, **self._added, **self._entries()})

    def __len__(self) -> int:
        return len(list(iter(self)))

    def working(self) -> list[Value]:
        """The values, without those of packages that cannot be imported."""
        found = []
        for name in self:
            try:
                found.append(self[name])
            except InputError:  # whoever asks for it by name is told
                continue
        return found

    def name_of(self, value: Any) -> str:
        """The name of a value, its dotted path, or a `Named` that no other process can load."""
        if isinstance(value, str):
            return value
        loaded = [name for name, entry in self._entries().items() if entry.module in sys.modules]
        known = (*self.own, *self._added, *loaded)
        name = next((name for name in known if self.get(name) is value), None)
        return name or find(value) or Named.of(value)


def where_to_register(what: str) -> str:
    """The function that adds one of these."""
    table = TABLES[what]
    assert isinstance(table, Registry)
    return f"{table.place}.register"

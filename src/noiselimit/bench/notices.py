"""What gave way while something was measured: the texts of every `Notice`, kept beside its figures."""

import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from noiselimit.errors import Notice


@contextmanager
def heard_notices(*, pass_on: bool = True) -> Iterator[list[str]]:
    """Yield a list that fills with the notices of whatever is done inside, each text once.

    The same one is heard in every training anew, which Python alone would show once a process. Who listened
    before hears of it too if it is to be passed on, and of other warnings as ever.
    """
    texts: list[str] = []
    turn = threading.Lock()  # cohorts train in threads of their own
    with warnings.catch_warnings():
        before = warnings.showwarning
        warnings.simplefilter("always", Notice)

        def note(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            noticed = issubclass(category, Notice)
            with turn:
                if noticed and str(message) not in texts:
                    texts.append(str(message))
            if pass_on or not noticed:
                before(message, category, *where, **more)

        warnings.showwarning = note
        yield texts


def entry_name(entry: Mapping[str, Any]) -> str:
    """How sentences name a row or the point of a sweep."""
    return str(entry.get("row") or f"sweep {entry.get('sweep')}, K = {entry.get('k') or 'best'}")


def told_notices(content: Mapping[str, Any]) -> list[str]:
    """A line for every notice in a bench, after the names of what it happened to; none in older files.

    Of a row that is the best of several cohorts, all of them count: the others are figures too.
    """
    names: dict[str, list[str]] = {}
    for entry in [*content["rows"], *content["points"]]:
        measured = {entry_name(entry): entry}
        if entry.get("tried"):
            measured = {f"{entry_name(entry)}, K = {each.get('k')}": each for each in entry["tried"]}
        for name, each in measured.items():
            for text in each.get("notices", []):
                names.setdefault(text, []).append(name)
    return [f"{'; '.join(dict.fromkeys(named))}: {text}" for text, named in names.items()]

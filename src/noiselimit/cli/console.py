"""Printing on stdout: styled on a terminal, clean text everywhere else, and never folded or cut."""

import os
from typing import TYPE_CHECKING

from noiselimit.errors import harmless

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

ENDLESS = 10_000  # columns: what does not fit is for the terminal to wrap, because cut numbers mislead


def output_console(width: int | None = ENDLESS) -> "Console":
    """A console on stdout that reads nothing as markup: names may contain brackets."""
    from rich.console import Console

    plain = bool(os.environ.get("NO_COLOR"))  # rich would still make text bold or dim
    return Console(
        color_system=None if plain else "auto", width=width, highlight=False, markup=False, emoji=False
    )


def fits(thing: "RenderableType") -> bool:
    """Whether the thing is no wider than the terminal; a file or a pipe has room for everything."""
    terminal = output_console(width=None)
    return not terminal.is_terminal or output_console().measure(thing).maximum <= terminal.width


def say(*things: "RenderableType") -> None:
    """Print without the blanks that pad the ends of a table's lines."""
    from rich.segment import Segment, Segments

    console = output_console()
    with console.capture() as captured:
        for thing in things:
            pieces = [
                Segment(harmless(text), style, control) for text, style, control in console.render(thing)
            ]
            console.print(Segments(pieces), end="")  # names come from files, and may hold anything
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))

"""What people type as option values: one or several, separated by commas."""

import csv
from pathlib import Path
from typing import Annotated, Any

import typer

from noiselimit.errors import InputError

DataDir = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Folder that holds data sets such as mnist. [default: the variable NOISELIMIT_DATA]",
    ),
]
Device = Annotated[str, typer.Option(metavar="NAME", help="auto, cpu or cuda.")]
Kernels = Annotated[
    str, typer.Option(metavar="NAME", help="Our own GPU kernels: auto, on or off (torch's instead).")
]
Graphs = Annotated[
    str, typer.Option(metavar="NAME", help="Record a GPU step once and replay it: auto, on or off.")
]
Checkpoints = Annotated[
    str,
    typer.Option(
        "--checkpoints",
        metavar="SECONDS",
        help="Least time between two; auto takes under 2 % of the time, off keeps none.",
    ),
]
Download = Annotated[bool, typer.Option("--download", help="Fetch the data set if it is not there.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Label = Annotated[
    str | None, typer.Option("--label", metavar="COLUMN", help="Column of a table that holds the labels.")
]
CleanLabel = Annotated[
    str | None,
    typer.Option("--clean-label", metavar="COLUMN", help="Column with clean labels, to measure by."),
]
Weight = Annotated[
    str | None,
    typer.Option("--weight", metavar="COLUMN", help="Column that says how much each example counts."),
]
Ignore = Annotated[
    str | None,
    typer.Option(
        "--ignore", metavar="COLUMN,...", help="Columns to leave out, such as identifiers; see docs/data.md."
    ),
]
Resize = Annotated[
    int | None, typer.Option("--resize", metavar="PIXELS", help="Bring pictures from files to this side.")
]
SkipBadImages = Annotated[
    bool, typer.Option("--skip-bad-images", help="Leave out pictures that cannot be read, and say which.")
]
Trust = Annotated[bool, typer.Option("--trust", help="Import the network that the run names by dotted path.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]


def numbers(explanation: str) -> Any:
    """An option that takes one number or several."""
    return typer.Option(metavar="N,...", help=explanation)


def names(explanation: str) -> Any:
    """An option that takes one name or several."""
    return typer.Option(metavar="NAME,...", help=explanation)


LARGEST_SEED = 2**63 - 1


def several(name: str, text: str) -> list[str]:
    """'1,10' → ['1', '10']."""
    values = [value.strip() for value in text.split(",")]
    if not all(values):
        raise InputError(f"{name} is '{text}': give a value, or several separated by commas.")
    return values


def columns(name: str, text: str | None) -> tuple[str, ...]:
    """'id,"name, first"' → ('id', 'name, first'): quoted as in a CSV where a column's name has a comma."""
    if text is None:
        return ()
    try:
        found = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        found = []
    if not found or not all(found):
        raise InputError(f"{name} is '{text}': give a column's name, or several separated by commas.")
    return tuple(found)


def whole_numbers(name: str, text: str) -> list[int]:
    """'0,1' → [0, 1]."""
    try:
        return [int(value) for value in several(name, text)]
    except ValueError:
        raise InputError(
            f"{name} is '{text}': give a whole number, or several separated by commas."
        ) from None


def several_seeds(name: str, text: str) -> list[int]:
    """'0,1' → [0, 1], none too large to draw with; who takes them says whether they may be negative."""
    found = whole_numbers(name, text)
    if max(found) > LARGEST_SEED:
        raise InputError(f"{name} is {text}: give whole numbers from 0 to {LARGEST_SEED}.")
    return found


def whole_number(name: str, text: str | None) -> int | None:
    """'15' → 15; None stays."""
    try:
        return None if text is None else int(text)
    except ValueError:
        raise InputError(f"{name} is '{text}': give a whole number.") from None


def any_number(name: str, text: str | None) -> float | None:
    """'2.5' → 2.5; None stays."""
    try:
        return None if text is None else float(text)
    except ValueError:
        raise InputError(f"{name} is '{text}': give a number.") from None

"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Any

import typer

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

"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

DataDir = Annotated[
    Path | None,
    typer.Option(help="Folder that holds data sets such as mnist. [default: the variable NOISELIMIT_DATA]"),
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]

"""noiselimit export."""

from pathlib import Path
from typing import Annotated

import typer

from noiselimit.cli.options import Json, RunFolder


def export(
    run: RunFolder,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write. [default: RUN's name with .safetensors]"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the classifier alone as an ordinary state dict.

    The safetensors file has ordinary names, and metadata that say how inputs are scaled.
    """
    import json

    from noiselimit.runs.folder import export_classifier, load_run

    loaded = load_run(run)
    target = out or Path(f"{run.resolve().name}.safetensors")
    export_classifier(loaded, target)
    if as_json:
        print(json.dumps({"weights": str(target), "network": loaded.spec.network, **loaded.data.to_json()}))
    else:
        print(
            f"classifier ({loaded.spec.network}) written to {target}; its metadata say how inputs are scaled"
        )

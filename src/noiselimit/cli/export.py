"""noiselimit export."""

from pathlib import Path
from typing import Annotated

from noiselimit.cli.options import Json, RunFolder, path_option
from noiselimit.cli.tables import print_json


def export(
    run: RunFolder,
    out: Annotated[
        Path | None, path_option("FILE", "File to write. [default: RUN's name with .safetensors]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the classifier as an ordinary state dict.

    The metadata of the safetensors file say how inputs are scaled.
    """
    from noiselimit.runs.folder import export_classifier, load_run

    loaded = load_run(run)
    target = out or Path(f"{run.resolve().name}.safetensors")
    export_classifier(loaded, target)
    if as_json:
        print_json({"weights": str(target), "network": loaded.spec.network, **loaded.data.to_json()})
    else:
        print(f"classifier ({loaded.spec.network}) written to {target}; its metadata say how to scale inputs")

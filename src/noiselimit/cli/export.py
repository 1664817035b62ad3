"""noiselimit export."""

from pathlib import Path
from typing import Annotated

import typer

from noiselimit.cli.options import Json, Overwrite, check_target, path_option
from noiselimit.cli.tables import print_json
from noiselimit.errors import InputError


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    out: Annotated[
        Path | None, path_option("FILE", "File to write. [default: RUN's name with .safetensors]")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Write the classifier as an ordinary state dict.

    The metadata of the safetensors file describe how to scale inputs.
    """
    from noiselimit.runs.folder import export_classifier, load_run

    target = out or Path(f"{run.resolve().name}.safetensors")
    if target.suffix.lower() != ".safetensors":
        raise InputError(f"cannot write {target}: the name must end in .safetensors.")
    if target.resolve().is_relative_to(run.resolve()):
        raise InputError(f"{target} is inside the run folder, which is never changed: name another --out.")
    check_target(target, overwrite=overwrite)
    loaded = load_run(run)
    export_classifier(loaded, target)
    if as_json:
        print_json({"weights": str(target), "network": loaded.spec.network, **loaded.data.to_json()})
    else:
        print(f"classifier ({loaded.spec.network}) written to {target}; its metadata hold the input scale")

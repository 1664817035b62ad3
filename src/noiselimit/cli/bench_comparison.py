"""noiselimit bench --compare A B."""

from pathlib import Path

import typer

USED = ("compare", "as_json")


def show_comparison(files: tuple[Path, Path], as_json: bool, context: typer.Context) -> None:
    """Print both files side by side; whatever else was typed would be ignored, so it is refused."""
    import json

    from noiselimit.bench.compare import compare
    from noiselimit.bench.result import read_bench
    from noiselimit.cli.bench_tables import print_comparison
    from noiselimit.errors import InputError

    needless = _typed_in_vain(context)
    if needless:
        raise InputError(f"--compare only reads two files: leave out {', '.join(needless)}.")
    compared = compare(*(read_bench(file) for file in files))
    if as_json:
        print(json.dumps(compared, indent=2))
    else:
        print_comparison(compared, *files)


def _typed_in_vain(context: typer.Context) -> list[str]:
    """Options on the command line that a comparison does not use, even those given their default.

    The source is told by its name: newer releases of typer have their private copy of click's classes.
    """
    return [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name not in USED
        and getattr(context.get_parameter_source(parameter.name or ""), "name", None) == "COMMANDLINE"
    ]

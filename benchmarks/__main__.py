"""`python -m benchmarks COMMAND`: measure speed, detection and scale; draw what the documents show."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import accuracy, detection, documents, scale, speed
from benchmarks.results import compare, print_results, read_results
from noiselimit.errors import InputError


def compare_files(
    a: Annotated[Path, typer.Argument(help="A file of speed or detection.")],
    b: Annotated[Path | None, typer.Argument(help="A second one; without it, A is printed.")] = None,
) -> None:
    """Print a results file, or compare two."""
    if b is None:
        print_results(read_results(a))
        return
    table, notes = compare(read_results(a), read_results(b))
    print(table.to_string(index=False, float_format="{:.4g}".format))
    print("\n".join(notes))


COMMANDS: dict[str, Callable[..., Any]] = {
    "speed": speed.main,
    "precision": accuracy.precision,
    "methods": accuracy.methods,
    "detection": detection.main,
    "scale": scale.main,
    "compare": compare_files,
    "figures": documents.main,
}
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, help=__doc__)
for name, function in COMMANDS.items():
    app.command(name)(function)


def main(arguments: list[str] | None = None) -> int:
    """Run a command. Bad input is one sentence on stderr and exit code 2."""
    try:
        app(arguments, prog_name="python -m benchmarks", standalone_mode=True)
    except InputError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("benchmarks: interrupted; finished measurements are kept in the file.", file=sys.stderr)
        return 130
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m benchmarks COMMAND`: a table from commands to functions."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import detection, speed
from benchmarks.results import compare, print_comparison, print_results, read_results
from noiselimit.errors import InputError


def compare_files(
    a: Annotated[Path, typer.Argument(help="A file of speed or detection.")],
    b: Annotated[Path | None, typer.Argument(help="A second one; without it, A is printed.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print a results file, or compare two."""
    first = read_results(a)
    result = first if b is None else compare(first, read_results(b))
    if as_json:
        print(json.dumps(result, indent=2))
    elif b is None:
        print_results(first)
    else:
        print_comparison(result)


COMMANDS: dict[str, Callable[..., Any]] = {
    "speed": speed.main,
    "detection": detection.main,
    "compare": compare_files,
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
        print("benchmarks: interrupted; measurements that had ended are kept in the file.", file=sys.stderr)
        return 130
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    sys.exit(main())

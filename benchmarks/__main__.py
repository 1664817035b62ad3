"""`python -m benchmarks COMMAND`: measure speed, detection and scale; draw what the documents show."""

import sys
from collections.abc import Callable
from typing import Any

import typer

from benchmarks import (
    accuracy,
    clusters,
    detection,
    distributed,
    documents,
    integrations,
    regression,
    review,
    scale,
    speed,
    suite,
)
from noiselimit.errors import InputError

COMMANDS: dict[str, Callable[..., Any]] = {
    "speed": speed.main,
    "distributed": distributed.main,
    "precision": accuracy.precision,
    "methods": accuracy.methods,
    "detection": detection.main,
    "suite": suite.main,
    "scale": scale.main,
    "regression": regression.main,
    "review": review.main,
    "integrations": integrations.main,
    "clusters": clusters.main,
    "figures": documents.main,
}
app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Measure speed, detection and scale, and fill in the pages in docs/benchmarks.",
)
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

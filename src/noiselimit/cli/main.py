"""`noiselimit`: the commands, and how every mistake ends in one sentence and exit code 2."""

import sys
from collections.abc import Sequence

import typer

from noiselimit.cli.demo import demo
from noiselimit.cli.export import export
from noiselimit.cli.predict import predict
from noiselimit.cli.show import show
from noiselimit.cli.train import train
from noiselimit.errors import InputError

app = typer.Typer(
    name="noiselimit",
    help="Train classifiers that cannot memorise wrong labels, and find the wrong labels.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, train, show, predict, export):
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        from noiselimit import __version__

        print(f"noiselimit {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    try:
        code = app(args=arguments, standalone_mode=False)
        return code if isinstance(code, int) else 0
    except InputError as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        print(
            "noiselimit: interrupted; finished runs are kept, and the same command goes on.", file=sys.stderr
        )
        return 130
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        sys.stderr.close()
        return 0
    except Exception as error:
        # The parser's own complaints; newer releases of typer carry their private copy of click's classes.
        if not hasattr(error, "format_message"):
            raise
        message = " ".join(str(error.format_message()).split())
        return _refuse(message) if message else 2


def _refuse(message: str) -> int:
    print(f"noiselimit: {message}", file=sys.stderr)
    return 2


def main() -> None:
    """Entry point of the installed command."""
    sys.exit(run())

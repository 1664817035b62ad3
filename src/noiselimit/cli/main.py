"""`noiselimit`: the commands, and how a command line ends."""

import os
import shlex
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from noiselimit.cli.apply import apply
from noiselimit.cli.audit import audit
from noiselimit.cli.bound import bound
from noiselimit.cli.decisions import decisions
from noiselimit.cli.demo import demo
from noiselimit.cli.docs import docs
from noiselimit.cli.errors import error_message
from noiselimit.cli.export import export
from noiselimit.cli.noise import noise
from noiselimit.cli.predict import predict
from noiselimit.cli.review import review
from noiselimit.cli.show import show
from noiselimit.cli.train import train
from noiselimit.errors import Notice, unknown

GUIDES: dict[Callable[..., Any], str] = {
    audit: "audit",
    review: "review",
    apply: "audit",
    decisions: "review",
    train: "train",
    show: "run-folder",
    predict: "train",
    export: "train",
    noise: "noise",
    demo: "install",
}
"""Command → the page about it, which its help names."""
BAD_INPUT, INTERRUPTED, BROKEN_PIPE, TERMINATED = 2, 130, 141, 143  # exit codes, as in shells


class _Command(TyperCommand):
    """Shows arguments as they are named, DATA; newer versions of typer add braces and types."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        for each in (each for each in self.params if each.param_type_name == "argument"):
            each.display_type_rich = lambda ctx: None  # type: ignore[attr-defined]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        named = [str(each.metavar) for each in self.params if each.param_type_name == "argument"]
        return ["[OPTIONS]", *named]


class _Commands(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=lambda name: name in ("demo", "docs"))  # come last

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands and not ctx.resilient_parsing:  # as shells complete words
            raise unknown("command", args[0], self.commands)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="noiselimit",
    cls=_Commands,
    epilog="Documentation: noiselimit docs",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _function, _page in GUIDES.items():
    app.command(cls=_Command, epilog=f"Guide: noiselimit docs {_page}")(_function)
app.command(cls=_Command)(docs)
app.add_typer(bound, name="bound", cls=_Commands)


def _version(wanted: bool) -> None:
    if wanted:
        from noiselimit import __version__

        print(f"noiselimit {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Train classifiers that hardly memorise wrong labels, and find label errors."""
    if context.invoked_subcommand is None:
        print(context.get_help())


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a command as Ctrl-C does."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line, by default that of this process, and return its exit code."""
    typed = list(sys.argv[1:] if arguments is None else arguments)
    command = typer.main.get_command(app)
    if "_NOISELIMIT_COMPLETE" in os.environ:  # a shell asks how to complete a word
        command.main(prog_name="noiselimit")
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            with command.make_context("noiselimit", list(typed)) as context:
                code = command.invoke(context)
            print(end="", flush=True)  # a full disk or a closed pipe shows here
            return int(code or 0)
        except typer.Exit as ended:
            return ended.exit_code
        except (KeyboardInterrupt, typer.Abort) as error:
            kept = "; ".join(getattr(error, "__notes__", ()))
            state = f"{kept}. To continue" if kept else "nothing was saved yet. To start again"
            _report(f"interrupted; {state}: noiselimit {shlex.join(typed)}")
            return TERMINATED if isinstance(error, Terminated) else INTERRUPTED
        except BrokenPipeError:  # the reader, such as head, has ended
            _discard_output()
            return BROKEN_PIPE
        except Exception as error:
            message = error_message(error, command, typed)
            if message is None:
                raise
            if isinstance(error, OSError):
                _discard_output()
            _report(message)
            return BAD_INPUT


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Show notices as one line and other warnings as Python does."""
    if issubclass(category, Notice):
        _report(str(message))
    elif f"{os.sep}PIL{os.sep}" not in str(where[0]):  # damaged images have messages of our own
        _python_shows_warning(message, category, *where, **more)


_python_shows_warning = warnings.showwarning


def _report(message: str) -> None:
    print("noiselimit:", " ".join(message.split()), file=sys.stderr, flush=True)


def _discard_output() -> None:
    """Let Python end without a second error when it flushes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


def main() -> None:
    """Entry point of the installed command."""
    signal.signal(signal.SIGTERM, _terminate)
    if sys.stdout is not None:
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # terminals without β and ★
    sys.exit(run())

"""`noiselimit`: the commands, and how every mistake ends in one sentence and exit code 2."""

import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import typer
from typer.core import TyperGroup

from noiselimit.cli.audit import audit
from noiselimit.cli.bound import bound
from noiselimit.cli.demo import demo
from noiselimit.cli.errors import parser_sentence, takes_place, with_typed_option
from noiselimit.cli.export import export
from noiselimit.cli.noise import noise
from noiselimit.cli.predict import predict
from noiselimit.cli.show import show
from noiselimit.cli.signals import INTERRUPTED, Ending, Interrupted, drop, end, say_last
from noiselimit.cli.train import train
from noiselimit.errors import InputError, Notice, unknown
from noiselimit.files import FULL
from noiselimit.machine import lacks_memory

NOBODY_READS = 141  # what shells report for a command whose reader, such as head, went away


class _Commands(TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands:
            raise unknown("command", args[0], self.commands)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="noiselimit",
    cls=_Commands,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, audit, noise, train, show, predict, export):
    app.command()(command)
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
    """Train classifiers that cannot memorise wrong labels, and find the wrong labels."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """What a user should know in one line; other warnings as Python shows them."""
    if issubclass(category, Notice):
        print("noiselimit:", message, file=sys.stderr, flush=True)
    elif f"{os.sep}PIL{os.sep}" not in str(where[0]):  # of damaged pictures we speak ourselves
        _python_shows_warning(message, category, *where, **more)


_python_shows_warning = warnings.showwarning


_ending = Ending()


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    typed = sys.argv[1:] if arguments is None else arguments
    _ending.begin(shlex.join(typed))
    try:
        warnings.showwarning = _show_warning
        _refuse_empty_places(typed)
        code = app(args=arguments, prog_name="noiselimit", standalone_mode=False)
        sys.stdout.flush()  # here, where a full disk or a reader that went away can still be reported
        return _ending.tell() if code == INTERRUPTED else int(code or 0)
    except (KeyboardInterrupt, typer.Abort):
        return _ending.tell()
    except Interrupted as error:
        return _ending.tell(str(error))
    except (BrokenPipeError, SystemExit) as error:  # the parser and rich turn the first into the second
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            return _refuse(f"code of your own ended the program (SystemExit: {error.code}): repair it first.")
        drop(sys.stdout)
        return NOBODY_READS
    except InputError as error:
        return _refuse(with_typed_option(str(error), _flags()))
    except OSError as error:
        drop(sys.stdout)
        place = error.filename or "the output"
        remedy = "free space" if error.errno in FULL else "check its permissions"
        return _refuse(f"{place} cannot be used ({error.strerror}): {remedy} or choose another place.")
    except Exception as error:
        if _ending.heard:
            return _ending.tell()
        if lacks_memory(error):
            reason = (str(error).strip().splitlines() or ["of Python"])[0]
            remedy = "take fewer examples, or a machine that has more"
            return _refuse(f"the machine's memory ran out ({reason}): {remedy}.")
        if not hasattr(error, "format_message"):  # a mistake of ours, not of the person who typed
            raise
        return _refuse(parser_sentence(error))
    finally:
        warnings.showwarning = _python_shows_warning


def _refuse(message: str) -> int:
    say_last(f"noiselimit: {' '.join(message.split())}")
    return 2


def _refuse_empty_places(typed: Sequence[str]) -> None:
    """To Python '' is the working folder, but who types it has a variable that is not set."""
    given = [f"{option}=" for option, value in pairwise(typed) if value == ""]
    if not given and not any(word.endswith("=") for word in typed):
        return
    places = {f"{parameter.opts[0]}=" for parameter in _parameters() if takes_place(parameter)}
    for place in places.intersection([*given, *typed]):
        raise InputError(f"{place.removesuffix('=')} is empty: name a file or folder.")


def _flags() -> dict[str, str]:
    """Parameter name → the option as it is typed, of all commands."""
    return {each.name: each.opts[0] for each in _parameters() if each.opts[0][0] == "-"}


def _parameters() -> list[Any]:
    """Of all commands."""
    commands: Any = typer.main.get_command(app)
    single = [inner for each in commands.commands.values() for inner in _with_inner(each)]
    return [parameter for each in single for parameter in each.params]


def _with_inner(command: Any) -> list[Any]:
    return [command, *getattr(command, "commands", {}).values()]


def main() -> None:
    """Entry point of the installed command."""
    try:
        _ending.listen()
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # not every terminal knows β and ★
        code = run()
    except KeyboardInterrupt:  # just before it begins, or just after it has ended
        code = _ending.tell()
    end(code)

"""Complaints in the words of the command line: options as they are typed, and where help is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from noiselimit.errors import InputError, unknown


def parser_sentence(error: Any) -> str:
    """The sentence for a complaint of the parser.

    Told by what it carries: newer releases of typer have their private copy of click's classes.
    """
    context = getattr(error, "ctx", None)
    if context is None:
        return f"{error.format_message().rstrip('.')}: see 'noiselimit --help'."
    given = getattr(error, "option_name", None)
    options = _options(context.command)
    if given is not None and given not in options:
        inner = getattr(context.command, "commands", {}).values()
        if any(given in _options(command) for command in inner):
            return f"{given} comes after a command: see '{context.command_path} --help'."
        return str(unknown("option", given, [*options, "--help"]))
    return f"{error.format_message().rstrip('.')}: see '{context.command_path} --help'."


def _options(command: Any) -> list[str]:
    return [name for parameter in command.params for name in parameter.opts if name[0] == "-"]


def with_typed_option(message: str, flags: Mapping[str, str]) -> str:
    """'learning_rate is 0: …', as Python users read it, with the option's `flags` entry in its place.

    Where there is a file or folder of that name, such as out or data, the sentence may be about that.
    """
    name, is_, rest = message.partition(" is ")
    return f"{flags[name]}{is_}{rest}" if is_ and name in flags and not Path(name).exists() else message


def takes_place(parameter: Any) -> bool:
    """Whether an option names a file or folder; help says so too."""
    return getattr(parameter, "metavar", None) in ("FILE", "FOLDER")


def refuse_two_files(context: Any) -> None:
    """Refuse the second of --resume and --config, whichever is read first."""
    if context.params.get("resume") is not None or context.params.get("config") is not None:
        raise InputError("--resume brings all options of the training: leave out --config.")

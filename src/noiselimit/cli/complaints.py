"""Complaints in the words of the command line: options as they are typed, and where help is."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from noiselimit.errors import InputError

NEAR = 0.7
"""How much of a word and what was meant must be the same: of 'list' and 'mnist' two thirds are."""


def not_known(what: str, given: str, known: Iterable[str], also: Iterable[str] = ()) -> InputError:
    """The error for a word that is none of these; one is suggested only if it is spelled nearly so.

    `also`: further words to suggest.
    """
    known = sorted(known)
    spelled = {_bare(name): name for name in (*known, *also)}
    near = get_close_matches(_bare(given), spelled, n=1, cutoff=NEAR)
    remedy = f"did you mean '{spelled[near[0]]}'?" if near else f"choose one of {', '.join(known)}."
    return InputError(f"unknown {what} '{given}': {remedy}")


def _bare(word: str) -> str:
    """Without the dashes that all options have in common."""
    return word.lstrip("-").lower().replace("_", "-")


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
        return str(not_known("option", given, [*options, "--help"]))
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

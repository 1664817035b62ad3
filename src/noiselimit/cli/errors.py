"""Messages for mistakes on the command line, and options from a --config file."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from noiselimit.errors import InputError, unknown
from noiselimit.files import FULL, read_small_text
from noiselimit.machine import lacks_memory


def error_message(error: Exception, command: Any, typed: Sequence[str]) -> str | None:
    """Return one sentence for an error that the user can correct, None for a bug."""
    if isinstance(error, InputError):
        for word in typed:
            command = _subcommands(command).get(word, command)
        return _with_option_name(str(error), _option_names(command))
    if isinstance(error, OSError):
        place = error.filename or "the output"
        remedy = "free some space" if error.errno in FULL else "check its permissions"
        return f"{place} cannot be used ({error.strerror}): {remedy} or choose another place."
    if lacks_memory(error):
        reason = (str(error).strip().splitlines() or ["Python"])[0]
        return f"not enough memory ({reason}): use fewer examples or a larger machine."
    return _parser_message(error) if hasattr(error, "format_message") else None


def _parser_message(error: Any) -> str:
    """The message of typer's parser, with the nearest option suggested."""
    context = getattr(error, "ctx", None)
    if context is None:
        return f"{error.format_message().rstrip('.')}: see 'noiselimit --help'."
    given = getattr(error, "option_name", None)
    known = _option_names(context.command)
    if given is not None and given not in known.values():
        if any(given in _option_names(each).values() for each in _subcommands(context.command).values()):
            return f"{given} comes after a command: see '{context.command_path} --help'."
        return str(unknown("option", given, [*known.values(), "--help"]))
    return f"{error.format_message().rstrip('.')}: see '{context.command_path} --help'."


def _with_option_name(message: str, flags: Mapping[str, str]) -> str:
    """'learning_rate is 0: …', which Python users see, as '--learning-rate is 0: …'."""
    name, blank, rest = message.partition(" ")
    # A file may have the name of an option, such as out.
    return f"{flags[name]}{blank}{rest}" if name in flags and not Path(name).exists() else message


def _subcommands(command: Any) -> dict[str, Any]:
    return getattr(command, "commands", {})


def _option_names(command: Any) -> dict[str, str]:
    """Parameter name → option as it is typed."""
    return {each.name: each.opts[0] for each in command.params if each.opts[0].startswith("-")}


def refuse_two_files(context: Any) -> None:
    """Refuse --resume together with --config, whichever is read first."""
    if context.params.get("resume") is not None or context.params.get("config") is not None:
        raise InputError("--resume restores all options of the training: leave out --config.")


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Use the file's values as defaults of the command; all mistakes in the file are reported at once."""
    if path is None:
        return None
    refuse_two_files(context)
    try:
        values = tomllib.loads(read_small_text(path))
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}): check the path of --config.") from None
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or nested too deeply
        raise InputError(f"{path} is not valid TOML ({error}): correct it.") from None
    parameters = {each.opts[0].removeprefix("--"): each for each in context.command.params}
    del parameters["config"]
    defaults: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in values.items():
        parameter: Any = parameters.get(key.replace("_", "-"))
        if parameter is None:
            problems.append(str(unknown("option", key, parameters)))
        elif getattr(parameter, "is_flag", False) != isinstance(value, bool):
            kind = "a number, a text or a list" if isinstance(value, bool) else "true or false"
            problems.append(f"{key} must be {kind}.")
        else:
            items = value if isinstance(value, list) else [value]
            if not items or not all(isinstance(item, str | int | float) for item in items):
                problems.append(f"{key} must be a number, a text or a list of those.")
            defaults[parameter.name] = value if isinstance(value, bool) else ",".join(map(str, items))
    if problems:
        raise InputError(f"{path}: {' '.join(problems)}")
    context.default_map = defaults
    return path

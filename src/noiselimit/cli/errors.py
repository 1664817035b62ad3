"""Messages for mistakes and interrupts on the command line, and options from a --config file."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from noiselimit.errors import InputError, unknown
from noiselimit.files import FULL, read_small_text
from noiselimit.machine import lacks_memory

_NAMES = re.compile(r"\w+(?: and \w+)*(?= )")
_UNKNOWN = re.compile(r"unknown (?!network |noise )\w+ '")
"""Not networks and noises, which several options take."""


def error_message(error: Exception, command: Any, typed: Sequence[str]) -> str | None:
    """Return one sentence for an error that the user can correct, None for a bug."""
    if isinstance(error, InputError):
        for word in typed:
            command = getattr(command, "commands", {}).get(word, command)
        return _with_options(str(error), _option_names(command))
    if isinstance(error, OSError):
        place = error.filename or "the output"
        remedy = "free some space" if error.errno in FULL else "check its permissions"
        return f"{place} cannot be used ({error.strerror}): {remedy} or choose another place."
    if lacks_memory(error):
        reason = (str(error).strip().splitlines() or ["Python"])[0]
        return f"not enough memory ({reason}): use fewer examples or a larger machine."
    return _parser_message(error) if hasattr(error, "format_message") else None


def _with_options(message: str, names: Mapping[str, str]) -> str:
    """'learning_rate is 0: …', which Python users see, becomes '--learning-rate is 0: …'."""
    start = _UNKNOWN.match(message) or _NAMES.match(message)
    if start is None:
        return message
    return re.sub(r"\w+", lambda word: names.get(word[0], word[0]), start[0]) + message[start.end() :]


def _parser_message(error: Any) -> str:
    """The message of typer's parser, with the nearest option suggested."""
    context = getattr(error, "ctx", None)
    if context is None:
        return f"{error.format_message().rstrip('.')}: see 'noiselimit --help'."
    given = getattr(error, "option_name", None)
    known = _option_names(context.command).values()
    if given is not None and given not in known:
        return str(unknown("option", given, [*known, "--help"]))
    return f"{error.format_message().rstrip('.')}: see '{context.command_path} --help'."


def _option_names(command: Any) -> dict[str, str]:
    """Parameter name → option as it is typed."""
    return {each.name: each.opts[0] for each in command.params if each.opts[0].startswith("-")}


@contextmanager
def note_saved(folder: Path) -> Iterator[None]:
    """Add to an interrupt what the folder of runs holds; `noiselimit.cli.main` prints it."""
    try:
        yield
    except KeyboardInterrupt as error:
        if holds_results(folder):
            error.add_note("checkpoints and finished runs are kept")
        raise


def holds_results(folder: Path) -> bool:
    """Whether a checkpoint or a finished run is in the folder."""
    return any(folder.glob("*/*.safetensors"))


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Use the file's values as defaults of the command; the error lists all mistakes of the file."""
    if path is None:
        return None
    try:
        values = tomllib.loads(read_small_text(path))
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}): check the path of --config.") from None
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or nested too deeply
        raise InputError(f"{path} is not valid TOML ({error}): correct it.") from None
    parameters = {each.opts[0].removeprefix("--"): each for each in context.command.params}
    del parameters["config"]
    defaults: dict[str, Any] = {}
    mistakes: list[str] = []
    for key, value in values.items():
        parameter: Any = parameters.get(key.replace("_", "-"))
        items = value if isinstance(value, list) else [value]
        if parameter is None:
            mistakes.append(str(unknown("option", key, parameters)).rstrip("."))
        elif getattr(parameter, "is_flag", False):
            if not isinstance(value, bool):
                mistakes.append(f"{key} must be true or false")
            defaults[parameter.name] = value
        elif items and all(type(item) in (str, int, float) for item in items):
            defaults[parameter.name] = ",".join(map(str, items))
        else:
            mistakes.append(f"{key} must be a number, a text or a list of those")
    if mistakes:
        end = "" if mistakes[-1].endswith("?") else "."
        raise InputError(f"{path}: {'; '.join(mistakes)}{end}")
    context.default_map = {**(context.default_map or {}), **defaults}
    return path

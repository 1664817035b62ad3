"""--config FILE.toml: the same options from a file; what is typed wins."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from noiselimit.errors import InputError, unknown
from noiselimit.files import read_small_text


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


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the file's values the command's defaults, before any other option is looked at."""
    if path is None:
        return None
    refuse_two_files(context)
    try:
        values = tomllib.loads(read_small_text(path))
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}): check the path of --config.") from None
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, or nested beyond reason
        raise InputError(f"{path} is not valid TOML ({error}): correct it.") from None
    parameters = {parameter.opts[0].removeprefix("--"): parameter for parameter in context.command.params}
    del parameters["config"]
    defaults: dict[str, Any] = {}
    for key, value in values.items():
        parameter: Any = parameters.get(key.replace("_", "-"))
        if parameter is None:
            raise unknown(f"option in {path}", key, parameters)
        if value == "" and takes_place(parameter):
            raise InputError(f"{path}: {key} is empty; name a file or folder.")
        switch = getattr(parameter, "is_flag", False)  # an argument, such as DATA, has no such thing
        defaults[parameter.name] = _as_switch(value, key, path) if switch else _as_typed(value, key, path)
    context.default_map = defaults
    return path


def _as_switch(value: Any, key: str, path: Path) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{path}: {key} is a switch, so it must be true or false; correct it.")
    return value


def _as_typed(value: Any, key: str, path: Path) -> str:
    """A value as it would be typed; a list with commas between its items."""
    items = value if isinstance(value, list) else [value]
    if not items or not all(_is_scalar(item) for item in items):
        raise InputError(f"{path}: {key} must be a number, a text or a list of those; correct it.")
    return ",".join(str(item) for item in items)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)

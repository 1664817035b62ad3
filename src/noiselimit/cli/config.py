"""--config FILE.toml: the same options from a file; what is typed wins."""

import tomllib
from pathlib import Path
from typing import Any

import typer

from noiselimit.errors import InputError, unknown


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the file's values the command's defaults, before any other option is looked at."""
    if path is None:
        return None
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}): check the path of --config.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML ({error}): correct it.") from None
    known = {str(parameter.name) for parameter in context.command.params} - {"config"}
    defaults: dict[str, Any] = {}
    for key, value in values.items():
        name = key.replace("-", "_")
        if name not in known:
            raise unknown(f"option in {path}", key, (option.replace("_", "-") for option in known))
        defaults[name] = _as_typed(value, key, path)
    context.default_map = defaults
    return path


def _as_typed(value: Any, key: str, path: Path) -> Any:
    """A TOML value as it would be typed: lists with commas, switches as they are."""
    if isinstance(value, bool):
        return value
    if isinstance(value, list) and value and all(_is_scalar(item) for item in value):
        return ",".join(str(item) for item in value)
    if not _is_scalar(value):
        raise InputError(f"{path}: {key} must be a number, a text or a list of those; correct it.")
    return str(value)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)

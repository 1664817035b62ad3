"""--resume FOLDER: the options of an unfinished training, as they were typed; what is typed now wins."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from noiselimit.cli.complaints import refuse_two_files
from noiselimit.cli.values import several
from noiselimit.errors import InputError
from noiselimit.files import write_json
from noiselimit.opening import read_small_text

if TYPE_CHECKING:
    from noiselimit.training import Progress

FILE = ".command.json"
FORMAT = 1
_NOT_REMEMBERED = {"config", "resume", "out", "as_json", "quiet", "download"}
"""Options that a file in the folder, which may come from anybody, does not say: it names no other file of
options, no place to write to, and what was to be fetched was there when training began."""
_CODE = ("network", "predictor_network", "predictor_features")
"""Options whose values may be dotted paths, as `RunSpec` reads them."""


def read_resume(context: typer.Context, folder: Path | None) -> Path | None:
    """Make what was typed then the command's defaults, before any other option is looked at."""
    if folder is None:
        return None
    refuse_two_files(context)
    from noiselimit.networks.dotted import is_dotted

    if not (folder / FILE).is_file() and (folder.parent / FILE).is_file():
        folder = folder.parent  # a run's own folder was named
    path = folder / FILE
    try:
        content = json.loads(read_small_text(path))
        typed, where, written = content["options"], content["folder"], content["format"]
        known = {parameter.name for parameter in context.command.params} - _NOT_REMEMBERED
        fitting = written == FORMAT and typed.keys() <= known
        if not fitting or not all(isinstance(value, str | int | float) for value in (where, *typed.values())):
            raise ValueError
    except FileNotFoundError:
        raise InputError(
            f"{folder} holds no unfinished training: give the --out folder of one that was interrupted."
        ) from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise InputError(
            f"{path} cannot be read, or another version wrote it: type the command again."
        ) from None
    if where != str(Path.cwd()):
        raise InputError(
            f"the training in {folder} was started in {where}: call --resume from there or, if that was "
            "moved, type the command again."
        )
    if any(is_dotted(value) for name in _CODE if name in typed for value in several(name, str(typed[name]))):
        raise InputError(f"the training in {folder} uses code of somebody's: type the command again.")
    context.default_map = {**typed, "out": str(folder)}
    return folder


@contextmanager
def remembered(
    options: Mapping[str, Any], out: Path, progress: Callable[["Progress"], None]
) -> Iterator[Callable[["Progress"], None]]:
    """Yield a `progress` that notes the options in `out` once training has begun; they go with its end."""
    noted = False

    def hear(news: "Progress") -> None:
        nonlocal noted
        if not noted:
            noted = True
            with suppress(OSError, InputError):  # a full disk; the command can be typed again
                write_json(out / FILE, _content(options))
        progress(news)

    yield hear
    (out / FILE).unlink(missing_ok=True)


def _content(options: Mapping[str, Any]) -> dict[str, Any]:
    typed = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in options.items()
        if value is not None and name not in _NOT_REMEMBERED
    }
    return {"format": FORMAT, "folder": str(Path.cwd()), "options": typed}

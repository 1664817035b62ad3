"""What an audit has trained before it is written: kept beside its folder, for the same command to go on."""

import json
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from noiselimit.audit.write import put_back
from noiselimit.cli.interrupted import Interrupted
from noiselimit.files import clear_leftovers, refuse_link, write_json
from noiselimit.locks import file_lock
from noiselimit.opening import read_small_text

WRITING = ".writing.json"
"""The options of a command that has begun to write its audit, which it may replace when it goes on."""
_ALIKE = {"threads", "checkpoints", "overwrite", "as_json", "quiet"}
"""Options by which the same audit may be asked for differently."""


@contextmanager
def unfinished_folder(folder: Path) -> Iterator[Path]:
    """Yield where to keep the runs of an audit in `folder`; it stays only where there is work to save.

    Meanwhile no other audit writes the same folder.
    """
    place, unfinished = _places(folder)
    with _held(place, folder):
        refuse_link(unfinished)
        try:
            yield unfinished
        except KeyboardInterrupt:
            done = "the audit was being" if (unfinished / WRITING).exists() else "no audit was"
            then = "goes on" if _tidied(unfinished) else "begins anew"
            raise Interrupted(f"{done} written, and the same command {then}") from None
        except BaseException:
            _tidied(unfinished)
            raise
        _remove(unfinished, place)
        clear_leftovers(place.parent, re.escape(place.name))


def begin_to_write(unfinished: Path, options: Mapping[str, Any]) -> None:
    """Note that this command may write its audit from now on, and write it again should it be killed."""
    write_json(unfinished / WRITING, _text(options))


def has_begun_to_write(folder: Path, options: Mapping[str, Any]) -> bool:
    """Whether this very command was killed while it wrote its audit, or just after.

    An older audit that one was about to replace is put back; one that was killed when it had done everything
    is only tidied up after.
    """
    place, unfinished = _places(folder)
    if _has_company(place):
        with _held(place, folder):
            put_back(place)
            if place.is_dir():
                clear_leftovers(place.parent, re.escape(place.name))
    return place.is_dir() and is_noted(unfinished, options)


def is_noted(unfinished: Path, options: Mapping[str, Any]) -> bool:
    """Whether this command is the one that began to write; a file that says anything else says nothing."""
    try:
        return bool(json.loads(read_small_text(unfinished / WRITING)) == _text(options))
    except (OSError, ValueError, RecursionError):
        return False


@contextmanager
def _held(place: Path, called: Path) -> Iterator[None]:
    """Keep other audits from `place`, by a lock that lies outside of all that is moved."""
    with file_lock(place, called=called, remedy="choose another folder"):
        yield


def _has_company(place: Path) -> bool:
    """Whether something lies beside it that an audit of it may have left."""
    try:
        return any(entry.name.startswith(f".{place.name}.") for entry in place.parent.iterdir())
    except OSError:
        return False


def _places(folder: Path) -> tuple[Path, Path]:
    """Of the audit, and of what is kept until it is written."""
    place = folder.resolve()
    return place, place.with_name(f".{place.name}.unfinished")


def _text(options: Mapping[str, Any]) -> dict[str, str]:
    """What tells commands apart."""
    return {name: str(value) for name, value in sorted(options.items()) if name not in _ALIKE}


def _remove(unfinished: Path, place: Path) -> None:
    """All at once, so that nobody who is killed meanwhile leaves half a run for the next."""
    with suppress(OSError):
        unfinished.rename(place.with_name(f".{place.name}.{secrets.token_hex(4)}.tmp"))


def _tidied(unfinished: Path) -> bool:
    """Whether something in it is worth keeping; it is removed if not."""
    worth = any(unfinished.glob(".checkpoints/*.safetensors")) or any(
        _succeeded(metrics) for metrics in unfinished.glob("*/metrics.json")
    )
    if not worth:
        shutil.rmtree(unfinished, ignore_errors=True)
    return worth


def _succeeded(metrics: Path) -> bool:
    try:
        return bool(json.loads(read_small_text(metrics))["failure"] is None)
    except (OSError, ValueError, LookupError, TypeError):
        return False

"""What an audit has trained before it is written: kept beside its folder, for the same command to go on."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from noiselimit.cli.interrupted import Interrupted
from noiselimit.files import clear_leftovers
from noiselimit.locks import folder_lock


@contextmanager
def unfinished_folder(folder: Path) -> Iterator[Path]:
    """Yield where to keep the runs of an audit in `folder`; it stays only where there is work to save.

    Meanwhile no other audit writes the same folder.
    """
    place = folder.resolve()
    unfinished = place.with_name(f".{place.name}.unfinished")
    with folder_lock(unfinished, called=folder):
        try:
            yield unfinished
        except KeyboardInterrupt:
            then = "goes on" if _tidied(unfinished) else "begins anew"
            raise Interrupted(f"no audit was written, and the same command {then}") from None
        except BaseException:
            _tidied(unfinished)
            raise
        clear_leftovers(place.parent, re.escape(place.name))
        shutil.rmtree(unfinished, ignore_errors=True)


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
        return bool(json.loads(metrics.read_text("utf-8"))["failure"] is None)
    except (OSError, ValueError, LookupError, TypeError):
        return False

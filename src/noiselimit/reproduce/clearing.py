"""Folders of runs that nobody needs any more: its row is all that is wanted of a run, weights fill disks."""

import shutil
from contextlib import suppress
from pathlib import Path

from noiselimit.checkpoints.content import Malformed, read_entries
from noiselimit.checkpoints.store import FOLDER
from noiselimit.checkpoints.tensor_file import NAME
from noiselimit.errors import InputError

MARK = "recorded"
"""File in a run's folder: its row is written, and nothing starts from it."""


def mark_recorded(folder: Path) -> None:
    """Let the folder go when it can."""
    with suppress(OSError):  # a full disk
        (folder / MARK).touch()


def clear_recorded(runs: Path) -> None:
    """Remove the folders that may go from `runs`, which the caller holds.

    A checkpoint of runs of which some still train says of the others, by their folders alone, that they have
    ended: as long as one names a folder, that stays.
    """
    named = _named(runs / FOLDER)
    for mark in list(runs.glob(f"*/{MARK}")):
        if named is not None and mark.parent.name not in named:
            for path in mark.parent.iterdir():
                if path != mark:  # this goes last: what is half removed when a process is killed can go then
                    path.unlink()
            shutil.rmtree(mark.parent, ignore_errors=True)


def _named(checkpoints: Path) -> set[str] | None:
    """Names of the folders of all runs that are in a checkpoint; None: not to be told now."""
    found = set()
    for path in checkpoints.glob("*"):
        if NAME.fullmatch(path.name) is None:
            continue
        try:
            found |= {entry.folder for entry in read_entries(path).values()}
        except Malformed:  # nobody will go on from it
            continue
        except (OSError, InputError):
            return None
    return found

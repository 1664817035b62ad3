"""The checkpoints beside the runs: which there are, which are whole, and which are needed no more."""

import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from noiselimit.checkpoints.content import Entry, Malformed, entry_of, read_entries, read_state, to_tensors
from noiselimit.checkpoints.tensor_file import SUFFIX, TEMPORARY, is_whole, write_tensors
from noiselimit.cohort.row_state import RowState
from noiselimit.errors import InputError, Notice
from noiselimit.spec import RunSpec

FOLDER = ".checkpoints"
GENERATIONS = 2
"""Checkpoints that are kept of every run: the newest, and one to fall back on."""


class Store:
    """Files in OUT/.checkpoints. Runs are looked up by hash in whatever file has them newest and whole.

    Who trains together changes from call to call, so a file is no matter of one block: it goes when none of
    its runs needs it, because their folders are there or because two newer files have them.
    """

    def __init__(self, out: Path) -> None:
        self.folder = out / FOLDER
        self._out = out
        self._files: dict[Path, dict[str, Entry]] = {}
        self._damaged: list[Path] = []
        self._lock = threading.Lock()
        for path in sorted(self.folder.glob(f"*{TEMPORARY}")):  # of a process that was killed
            with suppress(OSError):
                path.unlink()
        for path in sorted(self.folder.glob(f"*{SUFFIX}")):
            entries = _entries(path)
            if entries is None:
                self._damaged.append(path)
            else:
                self._files[path] = entries

    def tell_of_damage(self, runs: Sequence[RunSpec], usable: Callable[[RunSpec, Entry], bool]) -> None:
        """Say which files are damaged, and what that means for these runs."""
        if not self._damaged or not runs:
            return
        names = ", ".join(str(path) for path in self._damaged)
        are = "is damaged" if len(self._damaged) == 1 else "are damaged"
        older = any(self.newest(spec, usable) for spec in runs)
        then = "older checkpoints serve where there are any" if older else "training starts anew"
        warnings.warn(f"{names} {are}: {then}.", Notice, stacklevel=4)

    def newest(self, spec: RunSpec, usable: Callable[[RunSpec, Entry], bool]) -> tuple[Path, Entry] | None:
        """The newest checkpoint of the run, among those that are usable for it."""
        run = spec.hash
        with self._lock:
            found = [
                (path, entries[run])
                for path, entries in self._files.items()
                if run in entries and usable(spec, entries[run])
            ]
        return max(found, key=lambda place: (place[1].epoch, place[0].name), default=None)

    def load(self, spec: RunSpec, path: Path, entry: Entry) -> RowState:
        """What `newest` found."""
        try:
            return read_state(path, spec.hash, entry)
        except Malformed as error:
            raise InputError(f"{path} is no proper checkpoint ({error}): delete it and call again.") from None

    def add(self, states: Sequence[tuple[RunSpec, RowState]]) -> None:
        """Write a checkpoint, and drop what it makes superfluous."""
        tensors, metadata = to_tensors(states)
        epoch = max(state.epoch for _, state in states)
        path = write_tensors(self.folder, f"epoch-{epoch:05d}", tensors, metadata)
        with self._lock:
            self._files[path] = {spec.hash: entry_of(spec, state) for spec, state in states}
            self._sweep()

    def sweep(self) -> None:
        """Drop what is needed no more, and the folder when it is empty."""
        with self._lock:
            self._sweep()
            with suppress(OSError):
                self.folder.rmdir()

    def _sweep(self) -> None:
        places: dict[str, list[tuple[int, str, Path]]] = {}
        for path, entries in self._files.items():
            for run, entry in entries.items():
                if not (self._out / entry.folder / "spec.json").is_file():
                    places.setdefault(run, []).append((entry.epoch, path.name, path))
        needed = {path for found in places.values() for *_, path in sorted(found)[-GENERATIONS:]}
        for path in [path for path in self._files if path not in needed]:
            del self._files[path]
            with suppress(OSError):
                path.unlink()
        while self._damaged:
            with suppress(OSError):
                self._damaged.pop().unlink()


def _entries(path: Path) -> dict[str, Entry] | None:
    """The runs in a file, or None where it is damaged."""
    try:
        return read_entries(path) if path.is_file() and is_whole(path) else None
    except Malformed:
        return None

"""The checkpoints beside the runs: which there are, which are whole, and which are needed no more."""

import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from noiselimit.checkpoints.content import Entry, Malformed, entry_of, read_entries, read_state, to_tensors
from noiselimit.checkpoints.tensor_file import NAME, TEMPORARY_NAME, is_whole, write_tensors
from noiselimit.cohort.row_state import RowState
from noiselimit.errors import InputError, Notice
from noiselimit.files import refuse_link
from noiselimit.spec import RunSpec

FOLDER = ".checkpoints"
GENERATIONS = 2
"""Checkpoints that are kept of every run: the newest, and one to fall back on."""


Usable = Callable[[RunSpec, Entry], bool]
"""Whether a call can go on with a run from there."""


class Store:
    """Files in OUT/.checkpoints. Runs are looked up by hash in whatever file has them newest and whole.

    Who trains together changes from call to call, so a file is no matter of one block: it goes when none of
    its runs needs it, because their folders are there or because two newer files have them. What lies there
    under other names than ours is not touched, and a link is not followed.
    """

    def __init__(self, out: Path, usable: Usable) -> None:
        self.folder = out / FOLDER
        self._out = out
        self._usable = usable
        self._specs: dict[str, RunSpec] = {}
        self._files: dict[Path, dict[str, Entry]] = {}
        self._damaged: list[Path] = []
        self._unreadable: list[tuple[Path, str]] = []
        self._lock = threading.Lock()
        refuse_link(self.folder)
        for path in sorted(self.folder.glob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            if TEMPORARY_NAME.fullmatch(path.name):  # of a process that was killed
                with suppress(OSError):
                    path.unlink()
            elif NAME.fullmatch(path.name):
                self._look_at(path)

    def _look_at(self, path: Path) -> None:
        try:
            if is_whole(path):
                self._files[path] = read_entries(path)
            else:
                self._damaged.append(path)
        except Malformed:
            self._damaged.append(path)
        except OSError as error:  # which may pass: it stays
            self._unreadable.append((path, error.strerror or str(error)))

    def tell_of_damage(self, runs: Sequence[RunSpec]) -> None:
        """Say which files are damaged or cannot be read, and what that means for these runs."""
        if not runs or not (self._damaged or self._unreadable):
            return
        older = any(self.newest(spec) for spec in runs)
        then = "older checkpoints serve where there are any" if older else "training starts anew"
        if self._damaged:
            names = ", ".join(str(path) for path in self._damaged)
            are = "is damaged" if len(self._damaged) == 1 else "are damaged"
            warnings.warn(f"{names} {are}: {then}.", Notice, stacklevel=4)
        for path, reason in self._unreadable:
            warnings.warn(f"{path} cannot be read ({reason}): {then}.", Notice, stacklevel=4)

    def newest(self, spec: RunSpec) -> tuple[Path, Entry] | None:
        """The newest checkpoint of the run that the call can use."""
        found = [place for place in self._places(spec.hash) if self._usable(spec, place[1])]
        return max(found, key=lambda place: (place[1].epoch, place[0].name), default=None)

    def has(self, spec: RunSpec) -> bool:
        """Whether there is a checkpoint of the run, of use or not."""
        return bool(self._places(spec.hash))

    def others(self, specs: Iterable[RunSpec]) -> int:
        """How many other runs than these have checkpoints and no folder yet."""
        with self._lock:
            begun = {run for entries in self._files.values() for run in self._begun(entries)}
        return len(begun - {spec.hash for spec in specs})

    def _places(self, run: str) -> list[tuple[Path, Entry]]:
        with self._lock:
            return [(path, entries[run]) for path, entries in self._files.items() if run in entries]

    def _begun(self, entries: Mapping[str, Entry]) -> dict[str, Entry]:
        """Those whose runs have no folder."""
        return {
            run: entry
            for run, entry in entries.items()
            if not (self._out / entry.folder / "spec.json").is_file()
        }

    def load(self, spec: RunSpec, path: Path, entry: Entry) -> RowState:
        """What `newest` found."""
        try:
            return read_state(path, spec.hash, entry)
        except Malformed as error:
            raise InputError(f"{path} is no proper checkpoint ({error}): delete it and call again.") from None
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"{path} cannot be read ({reason}): see to that, or delete it.") from None

    def add(self, states: Sequence[tuple[RunSpec, RowState]]) -> None:
        """Write a checkpoint, and drop what it makes superfluous."""
        tensors, metadata = to_tensors(states)
        epoch = max(state.epoch for _, state in states)
        path = write_tensors(self.folder, f"epoch-{epoch:05d}", tensors, metadata)
        with self._lock:
            self._files[path] = {spec.hash: entry_of(spec, state) for spec, state in states}
            self._specs |= {spec.hash: spec for spec, _ in states}
            self._sweep()

    def sweep(self) -> None:
        """Drop what is needed no more, and the folder when it is empty."""
        with self._lock:
            self._sweep()
            with suppress(OSError):
                self.folder.rmdir()

    def _sweep(self) -> None:
        """What this call cannot use is kept for one that can, but pushes out nothing that this one can."""
        needed: set[Path] = set()
        places: dict[tuple[str, bool], list[tuple[int, str, Path]]] = {}
        for path, entries in self._files.items():
            for run, entry in self._begun(entries).items():
                if run in self._specs:
                    group = places.setdefault((run, self._usable(self._specs[run], entry)), [])
                    group.append((entry.epoch, path.name, path))
                else:
                    needed.add(path)
        needed |= {path for found in places.values() for *_, path in sorted(found)[-GENERATIONS:]}
        for path in [path for path in self._files if path not in needed]:
            del self._files[path]
            with suppress(OSError):
                path.unlink()
        while self._damaged:
            with suppress(OSError):
                self._damaged.pop().unlink()

"""The checkpoints of one call of `train`: found at its beginning, written meanwhile, dropped at its end."""

import math
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Self

import torch

from noiselimit.checkpoints.at_hand import AtHand
from noiselimit.checkpoints.content import Entry
from noiselimit.checkpoints.store import Store
from noiselimit.checkpoints.words import tell_of_others, tell_of_useless
from noiselimit.cohort.averages import is_averaged
from noiselimit.cohort.row_state import RowState
from noiselimit.errors import Notice
from noiselimit.spec import RunSpec

PATIENCE = 1.5
"""Seconds that an interrupted training waits for a checkpoint that is being written."""


def open_checkpoints(
    out: Path | None, seconds: float | None, device: torch.device, *, averaged: bool
) -> AbstractContextManager["Checkpoints | None"]:
    """Those beside the runs in `out`, at least so many `seconds` apart; None where there shall be none."""
    if out is None or seconds == math.inf:
        return nullcontext()
    return Checkpoints(out, seconds, averaged=averaged, in_background=device.type != "cpu")


class Checkpoints:
    """The checkpoints beside the runs in a folder.

    To be used as a context: on leaving, those of runs that have ended are dropped, and the last that is being
    written is waited for, though not for long after an exception.
    """

    def __init__(self, out: Path, seconds: float | None, *, averaged: bool, in_background: bool) -> None:
        """`seconds` as for `Interval`; `averaged`: runs average probabilities, so their states must too."""
        self.seconds = seconds
        self.in_background = in_background
        self.at_hand = AtHand()
        self._store = Store(out, self._usable)
        self._averaged = averaged
        self._writing: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._trouble: str | None = None
        self._told = False

    def find(self, specs: Sequence[RunSpec]) -> dict[str, Entry]:
        """Hash → where each of these runs can go on, if it can; says what is damaged or of no use."""
        self._store.tell_of_damage(specs)
        places = {spec.hash: self.newest(spec) for spec in specs}
        found = {run: entry for run, entry in places.items() if entry is not None}
        useless = sum(spec.hash not in found and self._store.has(spec) for spec in specs)
        if useless and self._averaged:
            tell_of_useless(self._store.folder, useless, len(specs))
        elif specs and not found:
            tell_of_others(self._store.folder, self._store.others(specs))
        return found

    def newest(self, spec: RunSpec) -> Entry | None:
        """Where the run can go on."""
        place = self._store.newest(spec)
        return None if place is None else place[1]

    def load(self, spec: RunSpec) -> RowState:
        """The state of a run that can go on."""
        place = self._store.newest(spec)
        assert place is not None
        return self._store.load(spec, *place)

    def _usable(self, spec: RunSpec, entry: Entry) -> bool:
        lacking = self._averaged and is_averaged(spec, entry.epoch) and not entry.averaged
        return entry.epoch < spec.epochs and not lacking

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wait(None if kind is None else time.monotonic() + PATIENCE)
        if not any(thread.is_alive() for thread in self._writing):
            self._store.sweep()
        if kind is None:
            self.tell()

    def wait(self, limit: float | None = None) -> None:
        """Until all is written, or until the clock says so."""
        for thread in self._writing:
            thread.join(None if limit is None else max(0.0, limit - time.monotonic()))

    def start(self, write: Callable[[], None]) -> threading.Thread:
        """Write in a thread; a daemon, so that it never keeps a program from ending."""
        thread = threading.Thread(target=write, daemon=True)
        with self._lock:
            thread.start()
            self._writing = [*(other for other in self._writing if other.is_alive()), thread]
        return thread

    def write(self, states: Sequence[tuple[RunSpec, RowState]]) -> None:
        """Write a checkpoint; whatever goes wrong, training goes on."""
        try:
            self._store.add(states)
        except Exception as error:  # mostly a full disk
            reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            self._trouble = f"no checkpoint could be written to {self._store.folder} ({reason})"

    def save(self) -> None:
        """Write what is at hand and in no checkpoint yet: the training ends early."""
        places = [(pair, self.newest(pair[0])) for pair in self.at_hand.newest()]
        newer = [pair for pair, entry in places if entry is None or entry.epoch < pair[1].epoch]
        if newer:
            self.write(newer)

    def tell(self) -> None:
        """Say once that a checkpoint could not be written: by a thread that somebody listens to."""
        if self._trouble is not None and not self._told:
            self._told = True
            warnings.warn(
                f"{self._trouble}: training goes on, and would go on from an older one; free space.",
                Notice,
                stacklevel=2,
            )

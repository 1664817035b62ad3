"""Checkpoints while a training runs: taken at the ends of epochs, written in the background."""

import dataclasses
import math
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Self

from noiselimit.checkpoints.content import Entry
from noiselimit.checkpoints.interval import Interval
from noiselimit.checkpoints.store import Store
from noiselimit.cohort.averages import is_averaged
from noiselimit.cohort.row_state import Keep, RowState, Take
from noiselimit.errors import Notice
from noiselimit.spec import RunSpec

PATIENCE = 1.5
"""Seconds that an interrupted training waits for a checkpoint that is being written."""


def open_checkpoints(
    out: Path | None, seconds: float | None, *, averaged: bool
) -> AbstractContextManager["Checkpoints | None"]:
    """Those beside the runs in `out`, at least so many `seconds` apart; None where there shall be none."""
    if out is None or seconds == math.inf:
        return nullcontext()
    return Checkpoints(out, seconds, averaged=averaged)


class Checkpoints:
    """The checkpoints beside the runs in a folder, for one call of `train`.

    To be used as a context: on leaving, those of runs that have ended are dropped, and the last that is being
    written is waited for, though not for long after an exception.
    """

    def __init__(self, out: Path, seconds: float | None, *, averaged: bool) -> None:
        """`seconds` as for `Interval`; `averaged`: runs average probabilities, so their states must too."""
        self._store = Store(out)
        self.seconds = seconds
        self._averaged = averaged
        self._writing: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._trouble: str | None = None
        self._told = False

    def find(self, specs: Sequence[RunSpec]) -> dict[str, Entry]:
        """Hash → where each of these runs can go on; says what is damaged."""
        self._store.tell_of_damage(specs, self._usable)
        found = {spec.hash: self._store.newest(spec, self._usable) for spec in specs}
        return {run: place[1] for run, place in found.items() if place is not None}

    def of_cohort(self, specs: Sequence[RunSpec]) -> "CohortKeeper":
        """Who keeps the states of these rows, which start now."""
        return CohortKeeper(self, specs)

    def _usable(self, spec: RunSpec, entry: Entry) -> bool:
        lacking = self._averaged and is_averaged(spec, entry.epoch) and not entry.averaged
        return entry.epoch < spec.epochs and not lacking

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        limit = None if kind is None else time.monotonic() + PATIENCE
        self.wait(limit)
        if limit is None or not any(thread.is_alive() for thread in self._writing):
            self._store.sweep()
        if kind is None:
            self.tell()

    def wait(self, limit: float | None = None) -> None:
        """Until all is written, or until the clock says so."""
        for thread in self._writing:
            thread.join(None if limit is None else max(0.0, limit - time.monotonic()))

    def write(self, states: Sequence[tuple[RunSpec, RowState]], interval: Interval, spent: float) -> None:
        """In the background; whatever goes wrong, training goes on."""
        try:
            spent += self._store.add(states)
        except Exception as error:  # mostly a full disk
            reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            self._trouble = f"no checkpoint could be written to {self._store.folder} ({reason})"
        interval.took(spent)

    def start(self, thread: threading.Thread) -> None:
        """Have it write; a daemon, so that it never keeps a program from ending."""
        with self._lock:
            thread.start()
            self._writing = [*(other for other in self._writing if other.is_alive()), thread]

    def tell(self) -> None:
        """Say once that a checkpoint could not be written: by a thread that somebody listens to."""
        if self._trouble is not None and not self._told:
            self._told = True
            warnings.warn(
                f"{self._trouble}: training goes on, and would go on from an older one; free space.",
                Notice,
                stacklevel=2,
            )

    def newest(self, spec: RunSpec) -> Entry | None:
        """Where the run can go on."""
        place = self._store.newest(spec, self._usable)
        return None if place is None else place[1]

    def load(self, spec: RunSpec) -> RowState:
        """The state of a run that can go on."""
        place = self._store.newest(spec, self._usable)
        assert place is not None
        return self._store.load(spec, *place)


class CohortKeeper:
    """A `noiselimit.cohort.row_state.Keeper`."""

    def __init__(self, checkpoints: Checkpoints, specs: Sequence[RunSpec]) -> None:
        self._checkpoints = checkpoints
        self._specs = specs
        self._started = time.perf_counter()
        entries = [checkpoints.newest(spec) for spec in specs]
        self._before = [0.0 if entry is None else entry.seconds for entry in entries]

    def seconds(self, row: int) -> float:
        """How long the row has trained, with what it took before it was interrupted."""
        return self._before[row] + time.perf_counter() - self._started

    def epochs(self, rows: Sequence[int]) -> list[int]:
        """The epochs from which these rows can go on; 0 is the beginning."""
        self._checkpoints.wait()
        entries = [self._checkpoints.newest(self._specs[row]) for row in rows]
        return [0 if entry is None else entry.epoch for entry in entries]

    def states(self, rows: Sequence[int]) -> list[RowState]:
        """Of rows that can go on from an epoch other than 0."""
        return [self._checkpoints.load(self._specs[row]) for row in rows]

    def of_block(self, rows: Sequence[int]) -> Keep:
        """Who keeps the states of a block of these rows, which starts now."""
        checkpoints, interval = self._checkpoints, Interval(self._checkpoints.seconds)
        writing: list[threading.Thread] = []

        def keep(take: Take, size: Callable[[], int]) -> None:
            checkpoints.tell()
            if writing and writing[-1].is_alive() and interval.is_automatic:
                return
            for thread in writing:  # asked for so often, one after the other
                thread.join()
            writing.clear()
            if not interval.is_due(size):
                return
            started = time.perf_counter()
            states = self._named(rows, take())
            spent = time.perf_counter() - started
            writing.append(
                threading.Thread(target=checkpoints.write, args=(states, interval, spent), daemon=True)
            )
            checkpoints.start(writing[-1])

        return keep

    def _named(self, rows: Sequence[int], states: Mapping[int, RowState]) -> list[tuple[RunSpec, RowState]]:
        return [
            (self._specs[rows[number]], dataclasses.replace(state, seconds=self.seconds(rows[number])))
            for number, state in states.items()
        ]

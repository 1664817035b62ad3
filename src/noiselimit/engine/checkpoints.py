"""The states of a cohort's rows: taken at the ends of epochs, and given back after an interruption."""

import dataclasses
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

from noiselimit.engine.callbacks import is_averaged
from noiselimit.engine.checkpoint_file import Entry, Store
from noiselimit.engine.results import Keep, RowState, Take
from noiselimit.errors import InputError, Notice, number
from noiselimit.machine import lacks_memory
from noiselimit.runs.spec import RunSpec

TIMES_ITS_COST = 50
"""So much longer than a checkpoint took do we wait for the next: they are less than 2 % of the time."""
LEAST_SECONDS = 10.0
"""Between two checkpoints: losing less is no loss."""
ASSUMED_SPEED = 2e8
"""Bytes per second, until it was measured."""
FIRST_AT_LATEST = 300.0
"""Seconds after which the first is due, whatever it costs: who waits longer has too much to lose."""


def parse_interval(checkpoints: str | float) -> float | None:
    """Least seconds between two checkpoints: as given, None for 'auto', infinitely many for 'off'."""
    if checkpoints in ("auto", "off"):
        return None if checkpoints == "auto" else math.inf
    try:
        return number("checkpoints", checkpoints, at_least=0.0)
    except InputError:
        raise InputError(
            f"checkpoints is {checkpoints!r}: give auto, off or a number of seconds ≥ 0."
        ) from None


class Interval:
    """When a block's next checkpoint is due."""

    def __init__(self, seconds: float | None, clock: Callable[[], float] = time.perf_counter) -> None:
        """`seconds`: at least so many between two; None chooses by what they cost."""
        self.is_automatic = seconds is None
        self._seconds = seconds
        self._clock = clock
        self._ended = clock()
        self._cost: float | None = None

    def is_due(self, size: Callable[[], int]) -> bool:
        """Whether it is time for one of so many bytes, which are asked for only when it matters."""
        gone = self._clock() - self._ended
        if self._seconds is not None or gone < LEAST_SECONDS:
            return self._seconds is not None and gone >= self._seconds
        if self._cost is None:
            return gone >= min(FIRST_AT_LATEST, TIMES_ITS_COST * size() / ASSUMED_SPEED)
        return gone >= TIMES_ITS_COST * self._cost

    def took(self, seconds: float) -> None:
        """One has been written just now, or could not be, and took so long."""
        self._cost, self._ended = seconds, self._clock()


def tell_of_begun(begun: Sequence[Entry], runs: int) -> None:
    """Say how many of so many runs go on from where, if any do."""
    if not begun:
        return
    epochs = [entry.epoch for entry in begun]
    first, last = min(epochs), max(epochs)
    where = f"epoch {first}" if first == last else f"epochs {first} to {last}"
    others = sorted({entry.torch for entry in begun} - {torch.__version__})
    before = f" that torch {', '.join(others)} computed, so that last digits may differ" if others else ""
    warnings.warn(f"{len(begun)} of {runs} runs go on from {where}{before}.", Notice, stacklevel=3)


def tell_of_useless(folder: Path, useless: int, runs: int) -> None:
    """Say why so many of so many runs start anew although they have checkpoints."""
    warnings.warn(
        f"{useless} of {runs} runs start anew: their checkpoints in {folder} lack the averages of "
        "probabilities that this call asks for.",
        Notice,
        stacklevel=4,
    )


def tell_of_others(folder: Path, others: int) -> None:
    """Say why all runs start anew although there are checkpoints, if so many other runs have some."""
    if others:
        runs = "another run" if others == 1 else f"{others} other runs"
        warnings.warn(
            f"training starts anew: {folder} holds states of {runs} alone, with other settings or data.",
            Notice,
            stacklevel=4,
        )


SECONDS = 1.0
"""That writing all of them may take."""
LEAST_COPY_SECONDS = 1.0
"""Between two copies: losing less is no loss."""
TIMES_COPY_COST = 200
"""So much longer than a copy took do we wait for the next: they are less than half a percent of the time."""
COPY_SPEED = 2e9
"""Bytes per second, until it was measured."""

States = Sequence[tuple[RunSpec, RowState]]


class AtHand:
    """The newest copies of several blocks, which train in threads of their own."""

    def __init__(self) -> None:
        self._held: dict[object, tuple[int, States]] = {}
        self._speed = ASSUMED_SPEED
        self._lock = threading.Lock()

    def measured(self, size: int, seconds: float) -> None:
        """So many bytes were written in so many seconds."""
        self._speed = min(ASSUMED_SPEED, size / max(seconds, 1e-9))

    def has_room(self, block: object, size: int) -> bool:
        """Whether so many bytes of the block can be written in time, together with those of others."""
        with self._lock:
            others = sum(held for other, (held, _) in self._held.items() if other is not block)
        return others + size <= self._speed * SECONDS

    def hold(self, block: object, size: int, states: States) -> None:
        """In the place of what is held of the block."""
        with self._lock:
            self._held[block] = size, states

    def drop(self, block: object) -> None:
        """What is held of the block: a checkpoint has it."""
        with self._lock:
            self._held.pop(block, None)

    def newest(self) -> list[tuple[RunSpec, RowState]]:
        """Of every run the newest state."""
        with self._lock:
            held = [pair for _, states in self._held.values() for pair in states]
        in_order = sorted(held, key=lambda pair: pair[1].epoch)
        return list({spec.hash: (spec, state) for spec, state in in_order}.values())


class CopyTimes:
    """When a block's next copy is due."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._ended = clock()
        self._cost: float | None = None

    def is_due(self, size: Callable[[], int]) -> bool:
        """Whether it is time for one of so many bytes, which are asked for only when it matters."""
        gone = self._clock() - self._ended
        if gone < LEAST_COPY_SECONDS:
            return False
        return gone >= TIMES_COPY_COST * (size() / COPY_SPEED if self._cost is None else self._cost)

    def took(self, seconds: float) -> None:
        """One has been made just now, in so many seconds."""
        self._cost, self._ended = seconds, self._clock()


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


class CohortKeeper:
    """A `noiselimit.engine.results.Checkpointer`, for rows that start now."""

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
        """Who keeps the states of a block of these rows, which starts now.

        On a CPU they are written at once, for which no copy of them is needed. A GPU goes on as soon as it
        has handed them out, and they are written in the background.
        """
        checkpoints, interval, copies = self._checkpoints, Interval(self._checkpoints.seconds), CopyTimes()
        writing: list[threading.Thread] = []

        def taken(take: Take) -> list[tuple[RunSpec, RowState]]:
            return [
                (self._specs[rows[number]], dataclasses.replace(state, seconds=self.seconds(rows[number])))
                for number, state in take().items()
            ]

        def keep(take: Take, size: Callable[[], int]) -> None:
            checkpoints.tell()
            if writing and writing[0].is_alive():
                if interval.is_automatic:
                    return
                writing[0].join()  # asked for so often, one after the other
            if not interval.is_due(size):
                hold(take, size)
                return
            started = time.perf_counter()
            states = taken(take)

            def write() -> None:
                checkpoints.write(states)
                seconds = time.perf_counter() - started
                interval.took(seconds)
                checkpoints.at_hand.measured(_bytes(states), seconds)
                checkpoints.at_hand.drop(keep)

            if checkpoints.in_background:
                writing[:] = [checkpoints.start(write)]
            else:
                write()

        def hold(take: Take, size: Callable[[], int]) -> None:
            """Have them at hand, should the training be interrupted, if they are few."""
            if not copies.is_due(size):
                return
            started = time.perf_counter()
            if checkpoints.at_hand.has_room(keep, needed := size()):
                try:
                    states = taken(take)
                    if not checkpoints.in_background:  # else they are copies already
                        states = [(spec, _copied(state)) for spec, state in states]
                    checkpoints.at_hand.hold(keep, needed, states)
                except Exception as error:
                    if not lacks_memory(error):  # else training matters more
                        raise
            copies.took(time.perf_counter() - started)

        return keep

    def save(self) -> None:
        """Keep what is at hand: the training ends early."""
        self._checkpoints.save()


def _copied(state: RowState) -> RowState:
    """One that training does not go on to change."""
    return dataclasses.replace(state, tensors={name: each.clone() for name, each in state.tensors.items()})


def _bytes(states: Sequence[tuple[RunSpec, RowState]]) -> int:
    return sum(each.numel() * each.element_size() for _, state in states for each in state.tensors.values())

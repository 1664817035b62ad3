"""States that are held in memory between checkpoints, to be written when a training is interrupted.

Only what can be written in the second or two that an interrupted command has; larger ones wait for their
checkpoint.
"""

import threading
import time
from collections.abc import Callable, Sequence

from noiselimit.checkpoints.interval import ASSUMED_SPEED
from noiselimit.cohort.row_state import RowState
from noiselimit.spec import RunSpec

SECONDS = 1.0
"""That writing all of them may take."""
LEAST_SECONDS = 1.0
"""Between two copies: losing less is no loss."""
TIMES_ITS_COST = 200
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
        if gone < LEAST_SECONDS:
            return False
        return gone >= TIMES_ITS_COST * (size() / COPY_SPEED if self._cost is None else self._cost)

    def took(self, seconds: float) -> None:
        """One has been made just now, in so many seconds."""
        self._cost, self._ended = seconds, self._clock()

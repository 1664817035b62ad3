"""How often a checkpoint is worth its time."""

import math
import time
from collections.abc import Callable

from noiselimit.errors import InputError, number

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

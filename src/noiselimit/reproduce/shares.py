"""Whose seconds they were: the time of training shared out among runs, those that an interruption cut too."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from noiselimit.files import atomic_file
from noiselimit.finite import finite_json
from noiselimit.opening import read_small_text

FILE = ".seconds.json"
"""Beside the runs' folders: what runs that still train have taken so far."""
OFTEN = 10.0
"""Seconds between two writings of it: a killed process loses no more."""
LEAST = 0.001
"""Seconds that are worth a file."""
NOBODY = ""
"""Under this name: seconds in which no run came to the end of an epoch."""


class Shares:
    """At every moment equal shares for those that train, over however many calls.

    Everything from the making of this to the last run's end is shared out: setting up and writing too.
    """

    def __init__(self, runs: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = runs / FILE
        self._clock = clock
        self._seconds = _read(self._path)
        self._training: set[str] = set()
        self._until = self._saved = clock()

    def hear(self, run: str) -> None:
        """Of a run that has trained for an epoch."""
        if self._clock() - self._saved >= OFTEN:
            self.save()
        self._training.add(run)

    def of_ended(self, run: str) -> float:
        """Seconds of a run that has ended just now."""
        self._training.add(run)
        self.save()  # with this run's, whose row is not written yet
        self._training.remove(run)
        return self._seconds.pop(run, 0.0)

    def of_found(self, run: str) -> float:
        """Seconds of a run that ended in a call before, which could not write its row any more."""
        return self._seconds.pop(run, 0.0)

    def has(self, run: str) -> bool:
        """Whether seconds of this run are waiting for its row."""
        return run in self._seconds

    def pause(self) -> None:
        """What has passed since the last run ended was no training."""
        self._until = self._clock()

    def save(self) -> None:
        """Write down what runs have taken, for a call that goes on with them."""
        self._share_out()
        self._saved = self._clock()
        kept = {run: seconds for run, seconds in self._seconds.items() if seconds >= LEAST}
        with suppress(OSError):  # a full disk ends no training
            if kept:
                with atomic_file(self._path) as temporary:
                    temporary.write_text(json.dumps(kept), "utf-8")
            else:
                self._path.unlink(missing_ok=True)

    def _share_out(self) -> None:
        now = self._clock()
        passed, self._until = now - self._until + self._seconds.pop(NOBODY, 0.0), now
        among = self._training or {NOBODY}
        for run in among:
            self._seconds[run] = self._seconds.get(run, 0.0) + passed / len(among)


def _read(path: Path) -> dict[str, float]:
    try:
        found = finite_json(read_small_text(path))
        return {str(run): float(seconds) for run, seconds in found.items() if float(seconds) > 0}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}

"""When every row of a training reported every epoch, and what follows for the time of one epoch."""

import time
from collections.abc import Callable, Mapping, Sequence

from noiselimit.training import Progress


class EpochClock:
    """A `progress` function that notes the time of each report, row by row."""

    def __init__(
        self, clock: Callable[[], float] = time.perf_counter, tell: Callable[[float], None] | None = None
    ) -> None:
        """`tell` hears the share of all epochs that is done."""
        self._clock, self._tell = clock, tell
        self.started = clock()
        self.ends: dict[str, list[float]] = {}
        """Hash of the run → when each of its epochs ended."""

    @property
    def reports(self) -> int:
        """How many there were so far, of all rows."""
        return sum(map(len, self.ends.values()))

    def __call__(self, progress: Progress) -> None:
        if progress.record is not None:
            self.ends.setdefault(progress.spec.hash, []).append(self._clock())
        if self._tell is not None:
            self._tell(progress.done / progress.total)


def parts_of(ends: Mapping[str, Sequence[float]]) -> list[list[Sequence[float]]]:
    """The rows' reports in groups that trained one after another, in the order of training.

    A cohort that does not fit into memory trains in parts: a row whose first epoch ends after others have
    reported their last belongs to a later part. Rows that train side by side overlap.
    """
    parts: list[list[Sequence[float]]] = []
    for reports in sorted(ends.values(), key=lambda reports: reports[0]):
        if parts and reports[0] < max(each[-1] for each in parts[-1]):
            parts[-1].append(reports)
        else:
            parts.append([reports])
    return parts


def epoch_seconds(started: float, ends: Mapping[str, Sequence[float]]) -> list[float]:
    """Seconds of every epoch of the whole cohort; an epoch ends when its last row reports.

    The parts of a split cohort add up. The first epoch includes what comes before it.
    """
    epochs = {len(reports) for reports in ends.values()}
    if len(epochs) != 1:
        raise RuntimeError("the rows of the cohort did not all train for the same number of epochs")
    total = [0.0] * epochs.pop()
    before = started
    for part in parts_of(ends):
        for epoch in range(len(total)):
            end = max(reports[epoch] for reports in part)
            total[epoch] += end - before
            before = end
    return total

"""Who hears of a training: a run that ends is a row at once, and the training ends when time is up."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from noiselimit.bench.provenance import source_state
from noiselimit.cohort.device import find_device
from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError, Notice
from noiselimit.reproduce.clearing import mark_recorded
from noiselimit.reproduce.cohorts import Cohort
from noiselimit.reproduce.figures.harvest import harvest, is_lacking
from noiselimit.reproduce.parents import is_parent
from noiselimit.reproduce.protocol import Protocol, protocol_for
from noiselimit.reproduce.result import Places, commit_text, make_row, recorded_seconds
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.rows_file import append_rows, read_rows, rows_path
from noiselimit.reproduce.shares import Shares
from noiselimit.runs import Run, load_run
from noiselimit.training import Progress

LAST_SECONDS = 5.0
"""Before the deadline: what is being written then must be whole."""


@dataclass(frozen=True)
class Way:
    """Where and how long to train."""

    runs: Path
    """Folder for run folders and checkpoints: what was begun there is gone on with."""
    device: str = "auto"
    threads: int | None = None
    deadline: float | None = None
    """By time.monotonic(); None: until everything is done."""
    checkpoints: str | float = "auto"

    @property
    def seconds_left(self) -> float:
        """Until the deadline."""
        return float("inf") if self.deadline is None else self.deadline - time.monotonic()


class News:
    """Hears of a cohort's training: makes rows of runs that end, and says when the time is up."""

    def __init__(
        self,
        cohort: Cohort,
        protocol: Protocol,
        data: DataSet,
        out: Path,
        way: Way,
        shares: Shares,
        tell: Callable[[float], None],
    ) -> None:
        self.ended = self.failed = self.epochs = 0
        """Runs of the cohort, and epochs of whatever run that were trained in this call."""
        self._protocol, self._data, self._out, self._way, self._tell = protocol, data, out, way, tell
        self._places, self._shares = Places(cohort.tasks), shares
        self._found = {path.parent.name for path in way.runs.glob("*/spec.json")}
        self._commit = commit_text(*source_state())
        # Figures train networks that no table has: theirs are kept with the figures alone.
        self._of_table = protocol.network == protocol_for(protocol.data, quick=protocol.quick).network
        self._target = rows_path(out, protocol.data)
        self._known = {(row.key, row.epochs) for row in read_rows(self._target)}

    def __call__(self, news: Progress) -> None:
        if news.record is not None:
            self.epochs += 1
            self._shares.hear(news.spec.hash)
        else:  # of a run that has ended, or was begun in a call before
            folder = self._way.runs / news.spec.folder_name
            if (folder / "spec.json").is_file():
                self._end(load_run(folder, trusted=True), folder)
        self._tell(news.done / news.total)

    def time_is_up(self) -> bool:
        """Asked at every step."""
        return self._way.seconds_left < LAST_SECONDS

    def _end(self, run: Run, folder: Path) -> None:
        if folder.name in self._found:
            # None are waiting for the row where a kept CE run had one already, in another folder of results.
            seconds = self._shares.of_found(run.spec.hash) or recorded_seconds(run.metrics)
        else:
            seconds = self._shares.of_ended(run.spec.hash)
        place = self._places.find(run.spec)
        row = make_row(place, run.spec, run.metrics, self._protocol, seconds, self._commit)
        is_new = self._of_table and (row.key, row.epochs) not in self._known
        if is_new:
            append_rows(self._target, [row])
            self._known.add((row.key, row.epochs))
        if self._places.is_task(run.spec):
            self.ended, self.failed = self.ended + 1, self.failed + run.failed
        is_done = try_harvest(row, run, self._data, self._out, self._way, is_new=is_new)
        if is_done and not is_parent(run.spec, self._protocol):
            mark_recorded(folder)


def try_harvest(
    row: ResultRow, run: Run, data: DataSet, out: Path, way: Way, *, is_new: bool = False
) -> bool:
    """Keep what figures want of the run, and say whether its folder is of no more use.

    It is still of use where a file of figures was damaged meanwhile. `is_new`: the run had no row before.
    """
    try:
        if is_new or is_lacking(row, out):  # figures show the row's run, not one trained again
            harvest(row, run, data, out, find_device(way.device))
    except InputError as error:
        warn_of_later(run, error)
        return False
    except Exception as error:  # hours of training shall not be lost for a picture
        what = f"{type(error).__name__}: {error}"
        warnings.warn(f"figures have nothing of run {run.path} ({what}).", Notice, stacklevel=2)
    return True


def warn_of_later(run: Run, error: InputError) -> None:
    """Say why figures have to wait for what they want of the run."""
    warnings.warn(f"figures have nothing of run {run.path} yet: {error}", Notice, stacklevel=3)

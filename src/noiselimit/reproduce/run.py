"""Training cohorts until they are done or the time is up; every run that ends is a row at once."""

import shutil
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from noiselimit.bench.provenance import source_state
from noiselimit.binding import bind
from noiselimit.checkpoints.store import FOLDER, Store
from noiselimit.cohort.device import find_device
from noiselimit.cohort.pace import fast_precision
from noiselimit.data.examples import DataSet
from noiselimit.errors import Notice
from noiselimit.reproduce.figures.harvest import harvest
from noiselimit.reproduce.protocol import Protocol, protocol_for
from noiselimit.reproduce.result import Places, Shares, make_row
from noiselimit.reproduce.rows_file import append_rows, read_rows, rows_path
from noiselimit.reproduce.work import Cohort
from noiselimit.runs import Run, load_run
from noiselimit.training import Progress, train

LAST_SECONDS = 5.0
"""Before the deadline: what is being written then must be whole."""
WORTH_BEGINNING = 30.0
"""Seconds below which no cohort is begun or gone on with: setting it up takes as long."""

Tell = Callable[[str, float], None]
"""Hears what is trained and the share of the work that is done."""


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


@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    rows: int = 0
    """Runs that it finished."""
    failed: int = 0
    left: int = 0
    """Runs that are still to do."""


class OutOfTime(Exception):  # noqa: N818  # no error: somebody wished it
    """Ends a training at the end of an epoch."""


def run_cohorts(
    cohorts: Sequence[Cohort],
    protocol: Protocol,
    data: DataSet,
    out: Path,
    way: Way,
    tell: Tell = lambda label, share: None,
) -> Ended:
    """Train the cohorts in their order as time allows, and add the rows to the files in the folder `out`.

    What was begun in a call before comes first. A cohort that will not be done in time is left to a later
    call, unless nothing else was done in this one: then it is begun, and its checkpoints are kept.
    """
    begun_before = _begun(cohorts, data, way)
    left = sorted(cohorts, key=lambda cohort: cohort not in begun_before)
    begun = len(begun_before)
    ended, whole = Ended(), sum(_weight(cohort) for cohort in cohorts) or 1.0
    done = 0.0
    while left and way.seconds_left > WORTH_BEGINNING:
        fitting = [cohort for cohort in left if (cohort.seconds or 0.0) <= way.seconds_left]
        if begun > 0 or (not fitting and ended.rows == 0):
            cohort = left[0]
        elif fitting:
            cohort = fitting[0]
        else:
            break
        begun -= 1
        left.remove(cohort)

        def tell_share(share: float, cohort: Cohort = cohort, done: float = done) -> None:
            tell(cohort.title, (done + share * _weight(cohort)) / whole)

        tell_share(0.0)
        news = _News(cohort, protocol, data, out, way, tell_share)
        in_time = _train(cohort, data, way, news)
        ended = replace(ended, rows=ended.rows + news.ended, failed=ended.failed + news.failed)
        done += _weight(cohort)
        if not in_time:
            break
    return replace(ended, left=sum(len(cohort.tasks) for cohort in cohorts) - ended.rows)


def _weight(cohort: Cohort) -> float:
    return cohort.seconds or float(len(cohort.tasks))


class _News:
    """Hears of a cohort's training: makes rows of runs that end, and ends it when the time is up."""

    def __init__(
        self,
        cohort: Cohort,
        protocol: Protocol,
        data: DataSet,
        out: Path,
        way: Way,
        tell: Callable[[float], None],
    ) -> None:
        self.ended = self.failed = 0
        self._protocol, self._data, self._out, self._way, self._tell = protocol, data, out, way, tell
        self._places, self._shares = Places(cohort.tasks), Shares()
        self._commit = (source_state()[0] or "")[:10]
        # Figures train networks that no table has: theirs are kept with the figures alone.
        self._of_table = protocol.network == protocol_for(protocol.data, quick=protocol.quick).network
        self._target = rows_path(out, protocol.data)
        self._known = {(row.key, row.epochs) for row in read_rows(self._target)}

    def __call__(self, news: Progress) -> None:
        if news.record is None:  # of a run that has ended, or was begun in a call before
            folder = self._way.runs / news.spec.folder_name
            if (folder / "spec.json").is_file():
                self._end(load_run(folder, trusted=True))
        self._tell(news.done / news.total)
        if self._way.seconds_left < LAST_SECONDS and news.done < news.total:
            raise OutOfTime

    def _end(self, run: Run) -> None:
        seconds = self._shares.of_next(run.spec, run.metrics)
        place = self._places.find(run.spec)
        row = make_row(place, run.spec, run.metrics, self._protocol, seconds, self._commit)
        if self._of_table and (row.key, row.epochs) not in self._known:
            append_rows(self._target, [row])
            self._known.add((row.key, row.epochs))
        if self._places.is_task(run.spec):
            self.ended, self.failed = self.ended + 1, self.failed + run.failed
        try:
            harvest(row, run, self._data, self._out, find_device(self._way.device))
        except Exception as error:  # hours of training shall not be lost for a picture
            what = f"{type(error).__name__}: {error}"
            warnings.warn(f"figures have nothing of run {run.path} ({what}).", Notice, stacklevel=2)


def _train(cohort: Cohort, data: DataSet, way: Way, news: _News) -> bool:
    """Whether it was done in time."""
    try:
        runs = train(
            [task.spec for task in cohort.tasks],
            data,
            out=way.runs,
            device=way.device,
            threads=way.threads,
            checkpoints=way.checkpoints,
            progress=news,
        )
    except OutOfTime:
        return False
    for run in runs:  # rows are all that is needed of them, but for what others start from
        if run.spec.method != "ce" and run.path is not None:
            shutil.rmtree(run.path, ignore_errors=True)
    return True


def _begun(cohorts: Sequence[Cohort], data: DataSet, way: Way) -> list[Cohort]:
    """Those of which a call before had to leave runs unfinished."""
    if not (way.runs / FOLDER).is_dir():
        return []
    precision = fast_precision(find_device(way.device))
    store = Store(way.runs, lambda spec, entry: True)
    return [
        cohort
        for cohort in cohorts
        if any(store.has(bind(task.spec, data, precision)) for task in cohort.tasks)
    ]

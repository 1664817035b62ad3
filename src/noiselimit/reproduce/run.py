"""Training cohorts until they are done or the time is up; every run that ends is a row at once."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from noiselimit.binding import bind
from noiselimit.checkpoints.store import FOLDER, Store
from noiselimit.cohort.device import find_device
from noiselimit.cohort.pace import fast_precision
from noiselimit.data.examples import DataSet
from noiselimit.errors import Notice
from noiselimit.locks import folder_lock
from noiselimit.reproduce.budget import next_cohort
from noiselimit.reproduce.clearing import clear_recorded
from noiselimit.reproduce.cohorts import Cohort
from noiselimit.reproduce.hearing import News, Way
from noiselimit.reproduce.protocol import Protocol
from noiselimit.reproduce.shares import Shares
from noiselimit.training import Stopped, train

Tell = Callable[[str, float], None]
"""Hears what is trained and the share of the work that is done."""


@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    rows: int = 0
    """Runs that it finished."""
    failed: int = 0
    left: int = 0
    """Runs that are still to do."""


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
    call, unless nothing else was done in this one: then it is begun, and its checkpoints are kept. Nobody
    else may train in the folder of the runs meanwhile.
    """
    with folder_lock(way.runs):
        shares = Shares(way.runs)
        try:
            return _run(cohorts, protocol, data, out, way, shares, tell)
        finally:
            shares.save()


def _run(
    cohorts: Sequence[Cohort],
    protocol: Protocol,
    data: DataSet,
    out: Path,
    way: Way,
    shares: Shares,
    tell: Tell,
) -> Ended:
    clear_recorded(way.runs)
    begun_before = _begun(cohorts, data, way)
    left = sorted(cohorts, key=lambda cohort: cohort not in begun_before)
    begun = len(begun_before)
    ended, whole = Ended(), sum(_weight(cohort) for cohort in cohorts) or 1.0
    done = 0.0
    while cohort := next_cohort(left, way.seconds_left, begun=begun > 0, idle=ended.rows == 0):
        begun -= 1
        left.remove(cohort)

        def tell_share(share: float, cohort: Cohort = cohort, done: float = done) -> None:
            tell(cohort.title, (done + share * _weight(cohort)) / whole)

        tell_share(0.0)
        news = News(cohort, protocol, data, out, way, shares, tell_share)
        in_time = _train(cohort, data, way, news)
        clear_recorded(way.runs)
        ended = replace(ended, rows=ended.rows + news.ended, failed=ended.failed + news.failed)
        done += _weight(cohort)
        if not in_time:
            break
        shares.pause()
    return replace(ended, left=sum(len(cohort.tasks) for cohort in cohorts) - ended.rows)


def _weight(cohort: Cohort) -> float:
    return cohort.seconds or float(len(cohort.tasks))


def _train(cohort: Cohort, data: DataSet, way: Way, news: News) -> bool:
    """Whether it was done in time."""
    try:
        train(
            [task.spec for task in cohort.tasks],
            data,
            out=way.runs,
            device=way.device,
            threads=way.threads,
            checkpoints=way.checkpoints,
            progress=news,
            stop=news.time_is_up,
        )
    except Stopped:
        if not news.epochs:
            warnings.warn(
                f"not one epoch of {cohort.title} was done in time, so a call that is no longer will begin "
                "it anew: give more minutes, fewer methods or a faster device.",
                Notice,
                stacklevel=3,
            )
        return False
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

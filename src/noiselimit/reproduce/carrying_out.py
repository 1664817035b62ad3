"""One call of `noiselimit reproduce NAME`: doing what it takes."""

from collections.abc import Callable
from functools import cache

from noiselimit.data.examples import DataSet
from noiselimit.data.sources import load_data
from noiselimit.files import make_folder
from noiselimit.locks import folder_lock
from noiselimit.reproduce.budget import WORTH_BEGINNING
from noiselimit.reproduce.call import Plan
from noiselimit.reproduce.hearing import Way
from noiselimit.reproduce.leftovers import finish_recorded
from noiselimit.reproduce.quick import require_kind
from noiselimit.reproduce.run import Ended, Tell, run_cohorts
from noiselimit.reproduce.wanted import Wanted

OFTEN = 30.0
"""Seconds between checkpoints where a budget may end the training, or a tenth of the budget."""


def carry_out(
    plan: Plan,
    wanted: Wanted,
    tell: Tell = lambda label, share: None,
    download_news: Callable[[str, int], None] | None = None,
) -> Ended:
    """Train what is left as time allows; without time for any of it no data are needed.

    What a killed process had trained, but could not bring to an end any more, is ended first.
    """
    protocol = plan.protocol
    if protocol is None:
        return Ended()
    # Whatever is trained, a table and figures of every kind get something of it: their files must be sound.
    require_kind(wanted.out, quick=wanted.quick)
    limit = wanted.budget_minutes
    way = Way(
        runs=wanted.runs_folder(protocol.data),
        device=wanted.device,
        threads=wanted.threads,
        deadline=None if limit is None else wanted.started + 60 * limit,
        checkpoints="auto" if limit is None else min(OFTEN, 6 * limit),
    )
    idle = not plan.cohorts or way.seconds_left <= WORTH_BEGINNING

    @cache
    def load() -> DataSet:
        download = wanted.download and not wanted.quick and not idle
        return load_data(protocol.source, wanted.data_dir, download, download_news)

    if idle:
        finish_recorded(plan.tasks, protocol, wanted.out, way, load)
        return Ended(left=plan.missing)
    data = load()  # what is wrong with the data is said before all else
    with folder_lock(way.runs):  # of two folders that cannot both be written to, neither is left behind
        make_folder(wanted.out)
        finish_recorded(plan.tasks, protocol, wanted.out, way, load)
        return run_cohorts(plan.cohorts, protocol, data, wanted.out, way, tell)

"""What a killed process had recorded and was not done with: figures get theirs, and the folders go."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError
from noiselimit.locks import folder_lock
from noiselimit.reproduce.clearing import MARK, clear_recorded, mark_recorded
from noiselimit.reproduce.figures.harvest import is_lacking
from noiselimit.reproduce.hearing import Way, try_harvest, warn_of_later
from noiselimit.reproduce.parents import is_parent
from noiselimit.reproduce.protocol import Protocol
from noiselimit.reproduce.recorded import recorded_runs
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.shares import Shares
from noiselimit.reproduce.work import Task
from noiselimit.runs import Run


def finish_recorded(
    tasks: Sequence[Task], protocol: Protocol, out: Path, way: Way, load: Callable[[], DataSet]
) -> None:
    """Do for runs whose rows are written what comes after that; a figure says its own `tasks`.

    Data are loaded only where figures lack something of a run. While others train in the folder of the runs
    it is left to them.
    """
    if not _is_anything_left(tasks, protocol, out, way.runs):
        return
    with ExitStack() as stack:
        try:
            stack.enter_context(folder_lock(way.runs))
        except InputError:
            return
        shares = Shares(way.runs)
        for run, row in recorded_runs(way.runs, tasks, protocol, out):
            if _is_harvested(run, row, out, way, load):
                shares.of_found(run.spec.hash)  # they are in the row
                if run.path is not None and not is_parent(run.spec, protocol):
                    mark_recorded(run.path)
        for mark in way.runs.glob(f"*/{MARK}"):
            shares.of_found(mark.parent.name.rpartition("-")[2])
        clear_recorded(way.runs)
        shares.pause()
        shares.save()


def _is_anything_left(tasks: Sequence[Task], protocol: Protocol, out: Path, runs: Path) -> bool:
    """The CE runs that others start from stay, so that they alone are nothing."""
    if any(runs.glob(f"*/{MARK}")):
        return True
    shares = Shares(runs)
    return any(
        not is_parent(run.spec, protocol) or is_lacking(row, out) or shares.has(run.spec.hash)
        for run, row in recorded_runs(runs, tasks, protocol, out)
    )


def _is_harvested(run: Run, row: ResultRow, out: Path, way: Way, load: Callable[[], DataSet]) -> bool:
    """Whether the folder is of no more use; not yet where the data are not at hand."""
    if not is_lacking(row, out):
        return True
    try:
        data = load()
    except InputError as error:
        warn_of_later(run, error)
        return False
    return try_harvest(row, run, data, out, way)

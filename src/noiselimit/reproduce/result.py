"""From a finished run to its row."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from noiselimit.methods import get_method
from noiselimit.noise import noise_to_json
from noiselimit.reproduce.bootstrap import bootstrap_std
from noiselimit.reproduce.cells import spec_hyper
from noiselimit.reproduce.protocol import Protocol
from noiselimit.reproduce.row_checks import YEAR
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.studies import Cell
from noiselimit.reproduce.work import Task
from noiselimit.spec import RunSpec


class Places:
    """Which cell and value of its grid a run is of: by what it is, once it is bound to data too."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = {_identity(task.spec): task for task in tasks}
        self._cells = {_problem(task.spec): task.cell for task in tasks}

    def is_task(self, spec: RunSpec) -> bool:
        """Whether it is a run of one of the tasks, rather than one that they start from."""
        return _identity(spec) in self._tasks

    def find(self, spec: RunSpec) -> tuple[Cell, str]:
        """Cell and value of a run that one of the tasks is, or starts from."""
        task = self._tasks.get(_identity(spec))
        if task is not None:
            return task.cell, task.hyper
        cell = replace(self._cells[_problem(spec)], method=spec.method)
        return cell, spec_hyper(cell, spec.hyper, spec.learning_rate)


def _problem(spec: RunSpec) -> tuple[object, ...]:
    return str(noise_to_json(spec.noise)), spec.train_size


def _identity(spec: RunSpec) -> tuple[object, ...]:
    how = (spec.method, *sorted(spec.hyper.items()), spec.learning_rate, spec.dropout, spec.weight_decay)
    return (*_problem(spec), *how, spec.seed, spec.epochs)


def commit_text(commit: str | None, changed: bool | None) -> str:
    """As rows have it: ten digits, and a plus where what ran was not quite that; empty: not known."""
    return "" if commit is None else commit[:10] + ("+" if changed else "")


def recorded_seconds(metrics: Mapping[str, Any]) -> float:
    """A run's equal share of what its cohort had taken when it ended; 0 where that is not known.

    That is all it took, unless others ended before it and left it more. A folder may say anything: what no
    row can have counts as not known.
    """
    runs, seconds = metrics.get("cohort"), metrics["cohort_seconds"]
    known = type(runs) is int and runs > 0 and seconds is not None and 0 <= seconds <= YEAR
    return seconds / runs if known else 0.0


def make_row(
    place: tuple[Cell, str],
    spec: RunSpec,
    metrics: Mapping[str, Any],
    protocol: Protocol,
    seconds: float,
    commit: str,
) -> ResultRow:
    """The row of a run of this cell and value that took so many seconds, and ended just now."""
    cell, hyper = place
    accuracy = metrics["test_accuracy"]
    with_predictor = get_method(spec.method).needs_predictor
    return ResultRow(
        data=cell.data,
        noise=cell.row_noise,
        p=cell.p,
        n=cell.n,
        method=spec.method,
        hyper=hyper,
        seed=spec.seed,
        epochs=spec.epochs,
        patience=spec.patience,
        network=protocol.network,
        precision=spec.precision,
        quick=protocol.quick,
        epochs_run=metrics["last_epoch"],
        best_epoch=metrics["best_epoch"],
        validation_accuracy=metrics["validation_accuracy"],
        validation_loss=metrics["validation_loss"],
        test_accuracy=accuracy,
        bootstrap_std=None
        if accuracy is None
        else bootstrap_std(accuracy, metrics["test_examples"], spec.seed),
        gap_auc=metrics["gap_auc"] if with_predictor else None,
        seconds=seconds,
        failure=metrics["failure"] or "",  # else there is a best epoch, and all of its figures
        device=metrics["device"],
        versions=" ".join(f"{name}={version}" for name, version in metrics["versions"].items()),
        commit=commit,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
    )

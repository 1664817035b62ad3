"""How long tasks will take that are trained together."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from statistics import fmean

from noiselimit.methods import get_method
from noiselimit.reproduce.protocol import Protocol
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.speed import RUN_SECONDS, SET_UP_SECONDS, Load, Speed
from noiselimit.reproduce.work import Task

ASSUMED_SHARE = 0.6
"""Of the epochs allowed, where early stopping can end a run and no row says how soon."""
Place = tuple[object, int, int | None]
"""Noise, seed and n: where one CE run serves all that start from one."""


def cohort_seconds(
    tasks: Sequence[Task],
    rows: Iterable[ResultRow],
    protocol: Protocol,
    speed: Speed | None,
    trained: Collection[Place] = (),
) -> float | None:
    """How long training them together will take, with the CE runs that some of them start from.

    `trained`: where there is such a CE run already.
    """
    if speed is None:
        return None
    fresh = [task for task in tasks if get_method(task.cell.method).starts is None]
    children = [task for task in tasks if get_method(task.cell.method).starts is not None]
    there = {place_of(task) for task in fresh if task.cell.method == "ce"}
    parents = {place_of(task): replace(task, cell=replace(task.cell, method="ce")) for task in children}
    missing = [task for place, task in parents.items() if place not in there and place not in trained]
    total = 0.0
    for generation in ([*fresh, *missing], children):
        if not generation:
            continue
        total += SET_UP_SECONDS.get(speed.device_type, 0.0)
        for task in generation:
            load = Load(
                protocol.network,
                protocol.input_shape,
                protocol.classes,
                task.cell.method,
                protocol.train_examples(task.cell.n),
                protocol.evaluated,
            )
            epochs = expected_epochs(task, rows)
            total += epochs * speed.epoch_seconds(load, len(generation)) + RUN_SECONDS
    return total


def expected_epochs(task: Task, rows: Iterable[ResultRow]) -> float:
    """As many as similar runs took: of the same method and n, else of the same n, else a stated share."""
    spec, cell = task.spec, task.cell
    if spec.epochs <= spec.patience:
        return float(spec.epochs)
    alike = [
        row
        for row in rows
        if (row.data, row.n, row.quick) == (cell.data, cell.n, False) and row.epochs >= spec.epochs
    ]
    of_method = [row for row in alike if row.method == cell.method]
    counted = [min(row.epochs_run, spec.epochs) for row in of_method or alike]
    return fmean(counted) if counted else max(spec.patience, ASSUMED_SHARE * spec.epochs)


def place_of(task: Task) -> Place:
    """Where the CE run is that the task starts from, or is."""
    return task.spec.noise, task.spec.seed, task.cell.n

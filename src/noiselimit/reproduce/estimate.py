"""How long tasks will take that are trained together."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from noiselimit.cohort.plan import plan_cohorts
from noiselimit.methods import METHODS, get_method
from noiselimit.reproduce.parents import Place, parent_of, place_of
from noiselimit.reproduce.protocol import Protocol
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.speed import RUN_SECONDS, SET_UP_SECONDS, Load, Speed
from noiselimit.reproduce.work import Task

ASSUMED_SHARE = 0.6
"""Of the epochs allowed, where early stopping can end a run and no row says how soon."""


def known_total(parts: Iterable[float | None]) -> float | None:
    """Their sum; None, not known, where one is not."""
    each = list(parts)
    known = [part for part in each if part is not None]
    return sum(known) if len(known) == len(each) else None


def cohort_seconds(
    tasks: Sequence[Task],
    rows: Sequence[ResultRow],
    protocol: Protocol,
    speed: Speed | None,
    trained: Collection[Place] = (),
) -> float | None:
    """How long training them by one call will take, with the CE runs that some of them start from.

    What cannot be rows of one tensor program, such as runs with another dropout, trains one after the other.
    `trained`: where there is such a CE run already.
    """
    if speed is None:
        return None
    fresh = [task for task in tasks if get_method(task.cell.method).starts is None]
    children = [task for task in tasks if get_method(task.cell.method).starts is not None]
    parents = {place_of(task.spec): parent_of(task) for task in children}
    there = {place_of(task.spec): task.spec.epochs for task in fresh if task.cell.method == "ce"}
    missing = [
        parent
        for place, parent in parents.items()
        if place not in trained and there.get(place) != parent.spec.epochs
    ]
    return sum(
        _seconds_together([generation[position] for position in positions], rows, protocol, speed)
        for generation in ([*fresh, *missing], children)
        for positions in plan_cohorts([task.spec for task in generation])
    )


def _seconds_together(
    tasks: Sequence[Task], rows: Sequence[ResultRow], protocol: Protocol, speed: Speed
) -> float:
    """Of runs that begin together; those that are left when others have ended are slower, each for itself."""
    total = SET_UP_SECONDS.get(speed.device_type, 0.0) + RUN_SECONDS * len(tasks)
    ends = zip(expected_epochs(tasks, rows), (load_of(task, protocol) for task in tasks), strict=True)
    loads = Counter(load_of(task, protocol) for task in tasks)
    before = 0.0
    for end, load in sorted(ends, key=lambda pair: pair[0]):
        if end > before:
            epoch = sum(n * speed.epoch_seconds(each, loads.total()) for each, n in loads.items() if n)
            total += (end - before) * epoch
            before = end
        loads[load] -= 1
    return total


def load_of(task: Task, protocol: Protocol) -> Load:
    """What its run does in an epoch."""
    return Load(
        protocol.network,
        protocol.input_shape,
        protocol.classes,
        task.cell.method,
        protocol.train_examples(task.cell.n),
        protocol.evaluated,
    )


def expected_epochs(tasks: Sequence[Task], rows: Iterable[ResultRow]) -> list[float]:
    """Epochs that each will take: spread as those of similar runs are, with the same mean.

    Similar are runs of the same method, n and patience, else of as many networks and the same n and patience;
    without any it is a stated share.
    """
    rows = list(rows)
    kinds: dict[tuple[str, int | None, int], list[int]] = {}
    for position, task in enumerate(tasks):
        kinds.setdefault((task.cell.method, task.cell.n, task.spec.epochs), []).append(position)
    expected = [0.0] * len(tasks)
    for positions in kinds.values():
        seen = sorted(_epochs_of_similar(tasks[positions[0]], rows))
        # Each stands for an equal part of what was seen, from the soonest to the latest.
        parts = np.repeat(seen, len(positions)).reshape(len(positions), len(seen)).mean(axis=1)
        for position, epochs in zip(positions, parts.tolist(), strict=True):
            expected[position] = epochs
    return expected


def _epochs_of_similar(task: Task, rows: Sequence[ResultRow]) -> list[float]:
    spec, cell = task.spec, task.cell
    if spec.epochs <= spec.patience:
        return [float(spec.epochs)]
    paired = get_method(cell.method).needs_predictor
    of_size = {name for name, method in METHODS.items() if method.needs_predictor == paired}
    alike = [
        row
        for row in rows
        if row.n == cell.n
        and row.method in of_size
        and (row.data, row.patience, row.quick) == (cell.data, spec.patience, False)
        and row.serves(spec.epochs)
    ]
    of_method = [row for row in alike if row.method == cell.method]
    seen = [float(min(row.epochs_run, spec.epochs)) for row in of_method or alike]
    return seen or [max(float(spec.patience), ASSUMED_SHARE * spec.epochs)]

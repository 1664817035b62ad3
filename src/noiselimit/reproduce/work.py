"""What is left to do, as cohorts with the time that each will take, the most informative first."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from noiselimit.methods import get_method
from noiselimit.reproduce.cells import cell_rows, spec_hyper
from noiselimit.reproduce.protocol import Protocol
from noiselimit.reproduce.rows import ResultRow, RowKey, current_rows
from noiselimit.reproduce.speed import RUN_SECONDS, SET_UP_SECONDS, Load, Speed
from noiselimit.reproduce.studies import Cell
from noiselimit.spec import RunSpec

FIRST_METHODS = {
    "mnist": ("ce", "mae", "fw", "dmi", "limit-g", "limit-l"),
    "cifar10": ("ce", "fw", "dmi", "limit-g", "limit-l", "limit-g+init", "limit-l+init"),
}
"""What the other methods come after; they are compared with these."""
FIRST_SHARE = 0.4
"""Of wrong labels, on CIFAR: what its tables are compared by."""
SEEDS_AT_A_TIME = 3
"""So many seeds of all that comes first, before others have any, and then the further seeds."""
ASSUMED_SHARE = 0.6
"""Of the epochs allowed, where early stopping can end a run and no row says how soon."""
ALONE = ("resnet-34", "resnet-50")
"""Networks that fill a device: runs of them gain nothing by company, so each is a cohort of its own."""


Place = tuple[object, int, int | None]
"""Noise, seed and n: where one CE run serves all that start from one."""


@dataclass(frozen=True)
class Task:
    """One run of a cell."""

    cell: Cell
    spec: RunSpec
    hyper: str

    def key(self, protocol: Protocol) -> RowKey:
        """The key that its row will have."""
        cell = self.cell
        noise = "none" if cell.p == 0 else cell.noise
        place = (cell.data, noise, cell.p, cell.n, cell.method, self.hyper, self.spec.seed)
        return (*place, self.spec.patience, protocol.network, protocol.quick)


@dataclass(frozen=True)
class Cohort:
    """Tasks that are trained by one call; what they start from is trained with them."""

    tasks: tuple[Task, ...]
    seconds: float | None
    """Estimated; None where the device was not measured."""

    @property
    def title(self) -> str:
        """For progress: what is in it."""
        first = self.tasks[0]
        place = f"{first.cell.data} {first.cell.problem if len(self.tasks) == 1 else f'n = {first.cell.n}'}"
        what = f"{first.cell.method} {first.hyper}".strip() if len(self.tasks) == 1 else "runs"
        count = "" if len(self.tasks) == 1 else f"{len(self.tasks)} "
        return f"{place}, seed {first.spec.seed}, {count}{what}"


def all_tasks(cells: Iterable[Cell], seeds: Iterable[int], protocol: Protocol) -> list[Task]:
    """Every run that the cells take, each once."""
    found: dict[RowKey, Task] = {}
    seeds = list(seeds)
    for cell in cells:
        for spec in cell.specs(seeds, protocol):
            task = Task(cell, spec, spec_hyper(cell, spec.hyper, spec.learning_rate))
            found.setdefault(task.key(protocol), task)
    return list(found.values())


def missing_tasks(tasks: Iterable[Task], rows: Iterable[ResultRow], protocol: Protocol) -> list[Task]:
    """Those that no row is of with as many epochs, or with as many as it wanted."""
    known = {row.key: row for row in current_rows(rows)}
    return [
        task
        for task in tasks
        if (row := known.get(task.key(protocol))) is None or not row.serves(task.spec.epochs)
    ]


def finalists(tasks: Iterable[Task], rows: Sequence[ResultRow], protocol: Protocol, count: int) -> list[Task]:
    """Of each cell the `count` values that rows so far, of however few epochs, say are best; all if none."""
    wanted: dict[Cell, Collection[str]] = {}
    kept = []
    for task in tasks:
        if task.cell not in wanted:
            by_value = cell_rows(task.cell, rows, protocol)
            merit = {
                value: fmean(row.validation_accuracy or 0 for row in own) for value, own in by_value.items()
            }
            wanted[task.cell] = sorted(merit, key=lambda value: -merit[value])[:count]
        if not wanted[task.cell] or task.hyper in wanted[task.cell]:
            kept.append(task)
    return kept


def plan_cohorts(
    tasks: Iterable[Task], rows: Sequence[ResultRow], protocol: Protocol, speed: Speed | None
) -> list[Cohort]:
    """The tasks in the order in which they tell most: all values of a seed together, seed after seed.

    One seed of all first methods and shares of noise at one n is a cohort; n grows, since small n is cheap.
    The other methods, whose grids are large, have cohorts of their own.
    """
    groups: dict[tuple[object, ...], list[Task]] = {}
    alone = protocol.network in ALONE
    for number, task in enumerate(sorted(tasks, key=_rank)):
        own = (number,) if alone else (task.spec.seed, task.cell.n, _company(task.cell))
        groups.setdefault(own, []).append(task)
    cohorts, trained = [], set[Place]()
    for group in groups.values():
        cohorts.append(Cohort(tuple(group), cohort_seconds(group, rows, protocol, speed, trained)))
        trained |= {_place(task) for task in group if _needs_ce(task)}
    return cohorts


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
    there = {_place(task) for task in fresh if task.cell.method == "ce"}
    parents = {_place(task): replace(task, cell=replace(task.cell, method="ce")) for task in children}
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


def _place(task: Task) -> Place:
    return task.spec.noise, task.spec.seed, task.cell.n


def _needs_ce(task: Task) -> bool:
    return task.cell.method == "ce" or get_method(task.cell.method).starts is not None


def _rank(task: Task) -> tuple[object, ...]:
    cell, seed = task.cell, task.spec.seed
    order = (_distance(cell), cell.noise)
    return (seed // SEEDS_AT_A_TIME, _tier(cell), seed, cell.n or 0, _company(cell), *order)


def _tier(cell: Cell) -> int:
    return 0 if cell.method in FIRST_METHODS.get(cell.data, (cell.method,)) else 1


def _company(cell: Cell) -> str:
    """Methods with the same answer train together: grids of hundreds of runs would take too long at once."""
    if _tier(cell) == 0:
        return ""
    return "ce" if cell.method.startswith("ce-") else cell.method


def _distance(cell: Cell) -> float:
    """Of the share of noise from that which comes first on CIFAR; MNIST's are trained together anyway."""
    return 0.0 if cell.data == "mnist" or cell.p is None else round(abs(cell.p - FIRST_SHARE), 6)

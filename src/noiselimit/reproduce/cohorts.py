"""Tasks as cohorts, the most informative first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from noiselimit.methods import get_method
from noiselimit.reproduce.estimate import Place, cohort_seconds, place_of
from noiselimit.reproduce.protocol import Protocol
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.speed import Speed
from noiselimit.reproduce.studies import Cell
from noiselimit.reproduce.work import Task

FIRST_METHODS = {
    "mnist": ("ce", "mae", "fw", "dmi", "limit-g", "limit-l"),
    "cifar10": ("ce", "fw", "dmi", "limit-g", "limit-l", "limit-g+init", "limit-l+init"),
}
"""What the other methods come after; they are compared with these."""
FIRST_SHARE = 0.4
"""Of wrong labels, on CIFAR: what its tables are compared by."""
SEEDS_AT_A_TIME = 3
"""So many seeds of all that comes first, before others have any, and then the further seeds."""
ALONE = ("resnet-34", "resnet-50")
"""Networks that fill a device: runs of them gain nothing by company, so each is a cohort of its own."""


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
        trained |= {place_of(task) for task in group if _needs_ce(task)}
    return cohorts


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

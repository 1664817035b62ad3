"""Tasks as cohorts, the most informative first."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from noiselimit.methods import get_method
from noiselimit.reproduce.estimate import cohort_seconds, known_total
from noiselimit.reproduce.parents import Place, place_of
from noiselimit.reproduce.protocol import GRIDS, Protocol
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.speed import Speed
from noiselimit.reproduce.studies import Cell
from noiselimit.reproduce.turns import Turn, turns
from noiselimit.reproduce.work import Task

FIRST_METHODS = {
    "mnist": ("ce", "mae", "fw", "dmi", "limit-g", "limit-l"),
    "cifar10": ("ce", "fw", "dmi", "limit-g", "limit-l", "limit-g+init", "limit-l+init"),
}
"""What the other methods come after; they are compared with these."""
FIRST_SHARE = 0.4
"""Of wrong labels, on CIFAR: what its tables are compared by."""
TARGETS = {("uniform", 0.4): "limit-g+init", ("pair", 0.4): "limit-l+init"}
"""The best of the paper on CIFAR-10: after what LIMIT is compared with, and before its other variants."""
SEEDS_AT_A_TIME = 3
"""So many seeds of all that comes first, before others have any, and then the further seeds."""
ALONE = ("resnet-34", "resnet-50")
"""Networks that fill a device: runs of them gain nothing by company, so each is a cohort of its own."""


METHODS = tuple(GRIDS)
"""In the order in which the tables want them."""


@dataclass(frozen=True)
class Cohort:
    """Tasks that are trained by one call; what they start from is trained with them."""

    tasks: tuple[Task, ...]
    seconds: float | None
    """Estimated; None where the device was not measured."""
    parent_seconds: float = 0.0
    """In addition, where the CE runs that cohorts before it are to train are not there."""

    @property
    def title(self) -> str:
        """For progress: what is in it."""
        first = self.tasks[0]
        place = f"{first.cell.data} {first.cell.problem if len(self.tasks) == 1 else f'n = {first.cell.n}'}"
        what = f"{first.cell.method} {first.hyper}".strip()
        if len(self.tasks) > 1:
            what = f"{len(self.tasks)} runs of {', '.join(self.methods)}"
        return f"{place}, seed {first.spec.seed}, {what}"

    @property
    def methods(self) -> list[str]:
        """In order, each once."""
        return list(dict.fromkeys(task.cell.method for task in self.tasks))

    @property
    def places(self) -> set[Place]:
        """Where it has a CE run, of its own or to start from."""
        return {place_of(task.spec) for task in self.tasks if _needs_ce(task)}

    def seconds_without(self, skipped: Iterable["Cohort"]) -> float:
        """Estimated, 0 if not, where these that come before it were not trained."""
        lacking = self.parent_seconds > 0 and any(self.places & other.places for other in skipped)
        return (self.seconds or 0.0) + (self.parent_seconds if lacking else 0.0)


def total_seconds(cohorts: Iterable[Cohort]) -> float | None:
    """What they will take one after the other; None where the device was not measured."""
    return known_total(cohort.seconds for cohort in cohorts)


def plan_cohorts(
    tasks: Iterable[Task],
    rows: Sequence[ResultRow],
    protocol: Protocol,
    speed: Speed | None,
    there: Collection[Place] = (),
) -> list[Cohort]:
    """The tasks in the order in which they tell most: all values of a seed together, seed after seed.

    One seed of all first methods and shares of noise at one n is a cohort; n grows, since small n is cheap.
    The other methods, whose grids are large, have cohorts of their own. Of runs that train alone, a few
    likely values of every cell come before the rest of any grid, cells that have fewest first, and what is
    clearly behind comes last. `there`: where there is a CE run to start from.
    """
    cohorts, trained = [], set(there)
    for group in _alone(tasks, rows, protocol) if protocol.network in ALONE else _together(tasks):
        seconds = cohort_seconds(group, rows, protocol, speed, trained)
        whole = cohort_seconds(group, rows, protocol, speed, there)
        cohorts.append(Cohort(tuple(group), seconds, (whole or 0.0) - (seconds or 0.0)))
        trained |= cohorts[-1].places
    return cohorts


def _needs_ce(task: Task) -> bool:
    if task.cell.method == "ce":  # of fewer epochs it is no run to start from
        return task.spec.parent_epochs in (None, task.spec.epochs)
    return get_method(task.cell.method).starts is not None


def _together(tasks: Iterable[Task]) -> list[list[Task]]:
    groups: dict[tuple[object, ...], list[Task]] = {}
    for task in sorted(tasks, key=lambda task: (*_rank(task), _distance(task.cell), task.cell.noise)):
        groups.setdefault((task.spec.seed, task.cell.n, _company(task.cell)), []).append(task)
    return list(groups.values())


def _alone(tasks: Iterable[Task], rows: Sequence[ResultRow], protocol: Protocol) -> list[list[Task]]:
    tasks = list(tasks)
    pairs = zip(tasks, turns(tasks, rows, protocol), strict=True)
    return [[task] for task, _ in sorted(pairs, key=lambda pair: _rank_alone(*pair))]


def _rank_alone(task: Task, turn: Turn) -> tuple[object, ...]:
    cell = task.cell
    place = (_promise(cell), cell.noise, cell.p or 0.0, METHODS.index(cell.method))
    return turn.is_behind, turn.round, *_rank(task), _distance(cell), turn.number, *place


def _rank(task: Task) -> tuple[int, int, int, int, str]:
    cell, seed = task.cell, task.spec.seed
    return seed // SEEDS_AT_A_TIME, _tier(cell), seed, cell.n or 0, _company(cell)


def _promise(cell: Cell) -> int:
    """What LIMIT is compared with, where it is to be best, and all else of it."""
    if not cell.method.startswith("limit"):
        return 0
    return 1 if cell.p is not None and TARGETS.get((cell.noise, cell.p)) == cell.method else 2


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

"""What the tables take and what is left of it: one task for every run."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from noiselimit.errors import InputError, unknown
from noiselimit.reproduce.cells import cell_rows, spec_hyper
from noiselimit.reproduce.comparison import compare
from noiselimit.reproduce.protocol import Protocol
from noiselimit.reproduce.rows import ResultRow, RowKey, current_rows, number_or_nan
from noiselimit.reproduce.studies import Cell
from noiselimit.spec import RunSpec


@dataclass(frozen=True)
class Task:
    """One run of a cell."""

    cell: Cell
    spec: RunSpec
    hyper: str

    def key(self, protocol: Protocol) -> RowKey:
        """The key that its row will have."""
        cell = self.cell
        place = (cell.data, cell.row_noise, cell.p, cell.n, cell.method, self.hyper, self.spec.seed)
        return (*place, self.spec.patience, protocol.network, protocol.quick)


def all_tasks(cells: Iterable[Cell], seeds: Iterable[int], protocol: Protocol) -> list[Task]:
    """Every run that the cells take, each once."""
    found: dict[RowKey, Task] = {}
    seeds = list(seeds)
    for cell in cells:
        for spec in cell.specs(seeds, protocol):
            task = Task(cell, spec, spec_hyper(cell, spec.hyper, spec.learning_rate))
            found.setdefault(task.key(protocol), task)
    return list(found.values())


def tasks_with(tasks: Iterable[Task], values: Iterable[str]) -> list[Task]:
    """Those that have one of these values, such as 'beta=30', of each hyper-parameter that is named.

    What is not searched, or by other hyper-parameters alone, stays.
    """
    tasks, asked = list(tasks), list(values)
    known = dict.fromkeys(value for task in tasks for value in task.hyper.split())
    if not known:
        raise InputError("values is given, but the methods asked for search nothing: leave it out.")
    for value in asked:
        _require_known(value, list(known))
    wanted = {_parsed(value) for value in asked}
    named = {name for name, _ in wanted}
    return [
        task
        for task in tasks
        if all(pair in wanted or pair[0] not in named for pair in map(_parsed, task.hyper.split()))
    ]


def missing_tasks(tasks: Iterable[Task], rows: Iterable[ResultRow], protocol: Protocol) -> list[Task]:
    """Those that no row is of with as many epochs, or with as many as it wanted."""
    known = {row.key: row for row in current_rows(rows)}
    return [
        task
        for task in tasks
        if (row := known.get(task.key(protocol))) is None or not row.serves(task.spec.epochs)
    ]


def finalists(tasks: Iterable[Task], rows: Sequence[ResultRow], protocol: Protocol, count: int) -> list[Task]:
    """Of each cell the `count` values that rows so far, of however few epochs, say are best; all if none.

    Values that no task has are not among them, nor is one of which a run failed: more epochs would change
    nothing.
    """
    tasks = list(tasks)
    asked = {(task.cell, task.hyper) for task in tasks}
    wanted: dict[Cell, Collection[str]] = {}
    kept = []
    for task in tasks:
        if task.cell not in wanted:
            by_value = cell_rows(task.cell, rows, protocol)
            found = compare(
                {
                    value: own
                    for value, own in by_value.items()
                    if (task.cell, value) in asked and not any(row.failure for row in own)
                }
            )
            wanted[task.cell] = () if found is None else found.ranked[:count]
        if not wanted[task.cell] or task.hyper in wanted[task.cell]:
            kept.append(task)
    return kept


def _require_known(value: str, known: Sequence[str]) -> None:
    """Numbers that are spelled alike are not near each other, so those that there are get listed."""
    pairs = {each: _parsed(each) for each in known}
    name, number = _parsed(value)
    if (name, number) in pairs.values():
        return
    alike = [each for each, (own, _) in pairs.items() if own == name]
    if not alike:
        raise unknown("hyper-parameter of these grids", name, {own for own, _ in pairs.values()})
    raise InputError(f"unknown value of these grids '{value}': choose one of {', '.join(alike)}.")


def _parsed(value: str) -> tuple[str, float]:
    """'beta=10.0' → ('beta', 10.0)."""
    name, _, number = value.partition("=")
    return name, number_or_nan(number)

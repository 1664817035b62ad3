"""One call of `noiselimit reproduce NAME`: what that takes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from noiselimit.cohort.device import find_device
from noiselimit.errors import InputError
from noiselimit.reproduce.cells import cell_rows
from noiselimit.reproduce.cohorts import Cohort, plan_cohorts, total_seconds
from noiselimit.reproduce.figures.figure import Figure
from noiselimit.reproduce.figures.kept import kept_file, read_kept
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.parents import parents_there
from noiselimit.reproduce.protocol import Protocol, protocol_for
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.rows_file import read_rows, rows_path
from noiselimit.reproduce.speed import Speed, find_speed
from noiselimit.reproduce.studies import STUDIES, Cell, Study, chosen_cells
from noiselimit.reproduce.wanted import Wanted
from noiselimit.reproduce.work import Task, all_tasks, finalists, missing_tasks, tasks_with
from noiselimit.training import circumstances


@dataclass(frozen=True)
class Plan:
    """What a call will do."""

    cells: tuple[Cell, ...]
    """Of the table; a figure has none."""
    protocol: Protocol | None
    """None where nothing is trained."""
    tasks: tuple[Task, ...]
    """All that was asked for, done or not."""
    cohorts: tuple[Cohort, ...]
    """What is left of it, in order."""
    rows: tuple[ResultRow, ...]
    """What there was before."""
    speed: Speed | None
    here: str = ""
    """The device to train on, by its own name."""

    @property
    def missing(self) -> int:
        """How many runs are left."""
        return sum(len(cohort.tasks) for cohort in self.cohorts)

    @property
    def seconds(self) -> float | None:
        """What is left will take about so long; None where the device was not measured."""
        return total_seconds(self.cohorts)


def make_plan(wanted: Wanted) -> Plan:
    """Nothing is trained, and no data are needed."""
    _require_folder(wanted.out, "no results can be put there: name another by --out")
    _require_folder(wanted.runs, "nothing can be trained there: name another by --runs")
    folders = (wanted.out.parent, Path("results"))
    device = find_device(wanted.device)
    speed = find_speed(device.type, folders, wanted.bench)
    if wanted.name in FIGURES:
        plan = _figure_plan(FIGURES[wanted.name], wanted, speed)
    else:
        plan = _table_plan(STUDIES[wanted.name], wanted, speed)
    return replace(plan, here=circumstances(device)["device"])


def _require_folder(place: Path, remedy: str) -> None:
    """Said before hours of training, and not when their first row is to be written."""
    there = next((path for path in (place, *place.parents) if path.exists()), None)
    if there is not None and not there.is_dir():
        raise InputError(f"{there} is no folder, so {remedy}.")


def _table_plan(study: Study, wanted: Wanted, speed: Speed | None) -> Plan:
    protocol = protocol_for(study.data, quick=wanted.quick, epochs=wanted.epochs)
    rows = read_rows(rows_path(wanted.out, study.data))
    cells = chosen_cells(study, wanted.methods, wanted.problems)
    tasks = all_tasks(cells, range(protocol.seeds) if wanted.seeds is None else wanted.seeds, protocol)
    if wanted.values is not None:
        tasks = tasks_with(tasks, wanted.values)
    if wanted.finalists is not None:
        _require_screen(tasks, rows, protocol)
        tasks = finalists(tasks, rows, protocol, wanted.finalists)
    there = parents_there(wanted.runs_folder(protocol.data), protocol)
    cohorts = plan_cohorts(missing_tasks(tasks, rows, protocol), rows, protocol, speed, there)
    return Plan(tuple(cells), protocol, tuple(tasks), tuple(cohorts), tuple(rows), speed)


def _require_screen(tasks: Sequence[Task], rows: Sequence[ResultRow], protocol: Protocol) -> None:
    """Where several values are to be chosen from, some must have been tried: else all would be trained."""
    values: dict[Cell, set[str]] = {}
    for task in tasks:
        values.setdefault(task.cell, set()).add(task.hyper)
    without = [
        f"{cell.method} {cell.problem}"
        for cell, asked in values.items()
        if len(asked) > 1 and asked.isdisjoint(cell_rows(cell, rows, protocol))
    ]
    if without:
        more = f" and of {len(without) - 1} more" if len(without) > 1 else ""
        raise InputError(
            f"finalists is given, but nothing was run yet of {without[0]}{more}: run a screen first, such as "
            "with --epochs 15, or leave it out."
        )


def _figure_plan(figure: Figure, wanted: Wanted, speed: Speed | None) -> Plan:
    protocol = figure.protocol(quick=wanted.quick, epochs=wanted.epochs)
    if protocol is None or figure.kind is None:
        return Plan((), None, (), (), (), speed)
    kept = figure.shown(read_kept(kept_file(wanted.out, figure.kind)), quick=wanted.quick)
    rows = [one.row for one in kept]
    there = parents_there(wanted.runs_folder(protocol.data), protocol)
    cohorts = plan_cohorts(figure.missing(kept, protocol), rows, protocol, speed, there)
    return Plan((), protocol, tuple(figure.tasks(protocol)), tuple(cohorts), tuple(rows), speed)

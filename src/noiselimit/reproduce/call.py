"""One call of `noiselimit reproduce NAME`: what was asked for, what that takes, and doing it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from noiselimit.cohort.device import find_device
from noiselimit.data.sources import load_data
from noiselimit.errors import InputError, number, unknown
from noiselimit.reproduce.cohorts import Cohort, plan_cohorts
from noiselimit.reproduce.figures.figure import Figure
from noiselimit.reproduce.figures.kept import kept_file, read_kept
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.hearing import Way
from noiselimit.reproduce.protocol import Protocol, protocol_for
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.rows_file import read_rows, rows_path
from noiselimit.reproduce.run import Ended, Tell, run_cohorts
from noiselimit.reproduce.speed import Speed, find_speed
from noiselimit.reproduce.studies import STUDIES, Cell, Study, chosen_cells
from noiselimit.reproduce.work import Task, all_tasks, finalists, missing_tasks

OFTEN = 30.0
"""Seconds between checkpoints where a budget may end the training."""


@dataclass(frozen=True)
class Wanted:
    """What somebody asked for; None is what the paper has."""

    name: str
    out: Path
    runs: Path = Path("runs/reproduce")
    seeds: Sequence[int] | None = None
    methods: Sequence[str] | None = None
    problems: Sequence[str] | None = None
    epochs: int | None = None
    finalists: int | None = None
    budget_minutes: float | None = None
    data_dir: Path | None = None
    download: bool = False
    device: str = "auto"
    threads: int | None = None
    bench: Path | None = None
    quick: bool = False
    started: float = field(default_factory=time.monotonic)
    """When the budget began."""

    def __post_init__(self) -> None:
        if self.name not in STUDIES and self.name not in FIGURES:
            raise unknown("table or figure", self.name, [*STUDIES, *FIGURES])
        for name in ("seeds", "methods", "problems", "finalists") if self.name in FIGURES else ():
            if getattr(self, name) is not None:
                option = "cells" if name == "problems" else name
                raise InputError(f"{option} is given, but '{self.name}' is a figure: leave it out.")
        for name in ("epochs", "finalists"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}: give a whole number ≥ 1.")
        if self.budget_minutes is not None:
            number("budget_minutes", self.budget_minutes, at_least=0.0)
        if self.seeds is not None and any(seed < 0 for seed in self.seeds):
            raise InputError(f"seeds has {min(self.seeds)}: give whole numbers ≥ 0.")


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

    @property
    def missing(self) -> int:
        """How many runs are left."""
        return sum(len(cohort.tasks) for cohort in self.cohorts)

    @property
    def seconds(self) -> float | None:
        """What is left will take about so long; None where the device was not measured."""
        each = [cohort.seconds for cohort in self.cohorts]
        known = [seconds for seconds in each if seconds is not None]
        return sum(known) if len(known) == len(each) else None


def make_plan(wanted: Wanted) -> Plan:
    """Nothing is trained, and no data are needed."""
    folders = (wanted.out.parent, Path("results"))
    speed = find_speed(find_device(wanted.device).type, folders, wanted.bench)
    if wanted.name in FIGURES:
        return _figure_plan(FIGURES[wanted.name], wanted, speed)
    return _table_plan(STUDIES[wanted.name], wanted, speed)


def _table_plan(study: Study, wanted: Wanted, speed: Speed | None) -> Plan:
    protocol = protocol_for(study.data, quick=wanted.quick, epochs=wanted.epochs)
    rows = read_rows(rows_path(wanted.out, study.data))
    cells = chosen_cells(study, wanted.methods, wanted.problems)
    tasks = all_tasks(cells, range(protocol.seeds) if wanted.seeds is None else wanted.seeds, protocol)
    if wanted.finalists is not None:
        tasks = finalists(tasks, rows, protocol, wanted.finalists)
    cohorts = plan_cohorts(missing_tasks(tasks, rows, protocol), rows, protocol, speed)
    return Plan(tuple(cells), protocol, tuple(tasks), tuple(cohorts), tuple(rows), speed)


def _figure_plan(figure: Figure, wanted: Wanted, speed: Speed | None) -> Plan:
    protocol = figure.protocol(quick=wanted.quick, epochs=wanted.epochs)
    if protocol is None or figure.kind is None:
        return Plan((), None, (), (), (), speed)
    kept = [one for one in read_kept(kept_file(wanted.out, figure.kind)) if figure.wants(one.row)]
    rows = [one.row for one in kept]
    cohorts = plan_cohorts(figure.missing(kept, protocol), rows, protocol, speed)
    return Plan((), protocol, tuple(figure.tasks(protocol)), tuple(cohorts), tuple(rows), speed)


def carry_out(
    plan: Plan,
    wanted: Wanted,
    tell: Tell = lambda label, share: None,
    download_news: Callable[[str, int], None] | None = None,
) -> Ended:
    """Train what is left as time allows."""
    limit = wanted.budget_minutes
    deadline = None if limit is None else wanted.started + 60 * limit
    if plan.protocol is None or not plan.cohorts:
        return Ended()
    source = plan.protocol.source
    data = load_data(source, wanted.data_dir, wanted.download and not wanted.quick, download_news)
    way = Way(
        runs=wanted.runs / (f"{plan.protocol.data}-quick" if wanted.quick else plan.protocol.data),
        device=wanted.device,
        threads=wanted.threads,
        deadline=deadline,
        checkpoints="auto" if deadline is None else OFTEN,
    )
    return run_cohorts(plan.cohorts, plan.protocol, data, wanted.out, way, tell)

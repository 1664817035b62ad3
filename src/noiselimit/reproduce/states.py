"""How far every table and figure is."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from noiselimit.reproduce.call import make_plan
from noiselimit.reproduce.cohorts import plan_cohorts, total_seconds
from noiselimit.reproduce.estimate import load_of
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.speed import Speed
from noiselimit.reproduce.studies import STUDIES
from noiselimit.reproduce.wanted import Wanted


@dataclass(frozen=True)
class State:
    """One table or figure: how many runs it takes, and how long they take on this device."""

    name: str
    kind: str
    """table or figure."""
    title: str
    runs: int
    done: int
    hours: float | None
    """For all of them from the beginning; None where the device was not measured."""
    hours_left: float | None
    scaled_from: str | None
    """The network whose times both are scaled from, where the bench did not time the right one."""


def all_states(
    out: Path,
    device: str,
    seeds: Sequence[int] | None = None,
    bench: Path | None = None,
    *,
    quick: bool = False,
) -> tuple[list[State], Speed | None]:
    """Of everything by name, the tables first; `seeds` are those of tables."""
    states: list[State] = []
    speed = None
    for name in (*STUDIES, *FIGURES):
        of_table = name in STUDIES
        wanted = Wanted(name, out, seeds=seeds if of_table else None, device=device, bench=bench, quick=quick)
        plan = make_plan(wanted)
        speed = plan.speed
        hours: float | None = 0.0
        scaled = None
        if plan.protocol is not None:
            hours = _hours(total_seconds(plan_cohorts(plan.tasks, plan.rows, plan.protocol, speed)))
            scaled = None if speed is None else speed.scaled_from(load_of(plan.tasks[0], plan.protocol))
        title = STUDIES[name].title if of_table else FIGURES[name].title
        done = len(plan.tasks) - plan.missing
        kind = "table" if of_table else "figure"
        states.append(State(name, kind, title, len(plan.tasks), done, hours, _hours(plan.seconds), scaled))
    return states, speed


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 3600

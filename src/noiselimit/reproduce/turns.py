"""Whose turn it is among runs that train alone: some values of every cell first, what is behind last."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import sqrt

from noiselimit.reproduce.cells import is_of
from noiselimit.reproduce.protocol import LIKELY, LIKELY_RATES, Protocol
from noiselimit.reproduce.rows import ResultRow, current_rows
from noiselimit.reproduce.studies import Cell
from noiselimit.reproduce.work import Task

VALUES_AT_A_TIME = 3
"""So many values of all cells, the most likely ones, before any cell has more of its grid."""
CLEAR = 2.0
"""Standard errors of a validation accuracy that are no chance."""


@dataclass(frozen=True)
class Turn:
    """When a value of a cell's grid is to be run."""

    is_behind: bool
    number: int
    """How many values its cell has before: 0 fills an empty one."""

    @property
    def round(self) -> int:
        """Of several values of all cells."""
        return self.number // VALUES_AT_A_TIME


def turns(tasks: Sequence[Task], rows: Sequence[ResultRow], protocol: Protocol) -> list[Turn]:
    """Of each task: after the values that its cell and seed have, in the order of likelihood.

    As long as none falls behind, doing what comes first changes no other's turn: a call that goes on does
    what one call would have done.
    """
    places: dict[tuple[Cell, int], list[int]] = {}
    for position, task in enumerate(tasks):
        places.setdefault((task.cell, task.spec.seed), []).append(position)
    found = [Turn(is_behind=False, number=0)] * len(tasks)
    for (cell, seed), positions in places.items():
        own = [row for row in rows if is_of(cell, row, protocol)]
        behind = values_behind(own, protocol.validation_examples)
        asked = {tasks[position].hyper for position in positions}
        done = {row.hyper for row in own if row.seed == seed and row.serves(protocol.epochs)} - asked
        ordered = sorted(positions, key=lambda at: (tasks[at].hyper in behind, _unlikelihood(tasks[at])))
        for number, position in enumerate(ordered, start=len(done)):
            found[position] = Turn(tasks[position].hyper in behind, number)
    return found


def values_behind(rows: Collection[ResultRow], examples: int) -> set[str]:
    """Of one cell: values that another of no smaller β clearly beat within the epochs that they had.

    Few epochs favour small β, so that a screen says nothing against a value larger than those that lead.
    """
    return {
        row.hyper
        for row in current_rows(rows)
        if any(
            other.seed == row.seed
            and other.best_epoch <= row.epochs_run
            and _beta(other) >= _beta(row)
            and _is_clear(other, row, examples)
            for other in rows
        )
    }


def _is_clear(better: ResultRow, worse: ResultRow, examples: int) -> bool:
    high, low = better.validation_accuracy, worse.validation_accuracy
    if high is None or low is None or better.hyper == worse.hyper:
        return False
    return high - low > CLEAR * sqrt(high * (1 - high) / examples)


def _beta(row: ResultRow) -> float:
    """0 where it is not searched: then all values are equals."""
    named = dict(part.split("=") for part in row.hyper.split())
    return float(named.get("beta", 0.0))


def _unlikelihood(task: Task) -> tuple[int, int]:
    rate = task.spec.learning_rate
    return (
        LIKELY.index(task.spec.hyper.get("beta", LIKELY[0])),
        LIKELY_RATES.index(rate) if rate in LIKELY_RATES else 0,
    )

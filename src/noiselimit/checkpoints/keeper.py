"""The states of a cohort's rows: taken at the ends of epochs, and given back after an interruption."""

import dataclasses
import threading
import time
from collections.abc import Callable, Sequence

from noiselimit.checkpoints.at_hand import CopyTimes
from noiselimit.checkpoints.call import Checkpoints
from noiselimit.checkpoints.interval import Interval
from noiselimit.cohort.row_state import Keep, RowState, Take
from noiselimit.machine import lacks_memory
from noiselimit.spec import RunSpec


class CohortKeeper:
    """A `noiselimit.cohort.row_state.Keeper`, for rows that start now."""

    def __init__(self, checkpoints: Checkpoints, specs: Sequence[RunSpec]) -> None:
        self._checkpoints = checkpoints
        self._specs = specs
        self._started = time.perf_counter()
        entries = [checkpoints.newest(spec) for spec in specs]
        self._before = [0.0 if entry is None else entry.seconds for entry in entries]

    def seconds(self, row: int) -> float:
        """How long the row has trained, with what it took before it was interrupted."""
        return self._before[row] + time.perf_counter() - self._started

    def epochs(self, rows: Sequence[int]) -> list[int]:
        """The epochs from which these rows can go on; 0 is the beginning."""
        self._checkpoints.wait()
        entries = [self._checkpoints.newest(self._specs[row]) for row in rows]
        return [0 if entry is None else entry.epoch for entry in entries]

    def states(self, rows: Sequence[int]) -> list[RowState]:
        """Of rows that can go on from an epoch other than 0."""
        return [self._checkpoints.load(self._specs[row]) for row in rows]

    def of_block(self, rows: Sequence[int]) -> Keep:
        """Who keeps the states of a block of these rows, which starts now.

        On a CPU they are written at once, for which no copy of them is needed. A GPU goes on as soon as it
        has handed them out, and they are written in the background.
        """
        checkpoints, interval, copies = self._checkpoints, Interval(self._checkpoints.seconds), CopyTimes()
        writing: list[threading.Thread] = []

        def taken(take: Take) -> list[tuple[RunSpec, RowState]]:
            return [
                (self._specs[rows[number]], dataclasses.replace(state, seconds=self.seconds(rows[number])))
                for number, state in take().items()
            ]

        def keep(take: Take, size: Callable[[], int]) -> None:
            checkpoints.tell()
            if writing and writing[0].is_alive():
                if interval.is_automatic:
                    return
                writing[0].join()  # asked for so often, one after the other
            if not interval.is_due(size):
                hold(take, size)
                return
            started = time.perf_counter()
            states = taken(take)

            def write() -> None:
                checkpoints.write(states)
                seconds = time.perf_counter() - started
                interval.took(seconds)
                checkpoints.at_hand.measured(_bytes(states), seconds)
                checkpoints.at_hand.drop(keep)

            if checkpoints.in_background:
                writing[:] = [checkpoints.start(write)]
            else:
                write()

        def hold(take: Take, size: Callable[[], int]) -> None:
            """Have them at hand, should the training be interrupted, if they are few."""
            if not copies.is_due(size):
                return
            started = time.perf_counter()
            if checkpoints.at_hand.has_room(keep, needed := size()):
                try:
                    states = taken(take)
                    if not checkpoints.in_background:  # else they are copies already
                        states = [(spec, _copied(state)) for spec, state in states]
                    checkpoints.at_hand.hold(keep, needed, states)
                except Exception as error:
                    if not lacks_memory(error):  # else training matters more
                        raise
            copies.took(time.perf_counter() - started)

        return keep

    def save(self) -> None:
        """Keep what is at hand: the training ends early."""
        self._checkpoints.save()


def _copied(state: RowState) -> RowState:
    """One that training does not go on to change."""
    return dataclasses.replace(state, tensors={name: each.clone() for name, each in state.tensors.items()})


def _bytes(states: Sequence[tuple[RunSpec, RowState]]) -> int:
    return sum(each.numel() * each.element_size() for _, state in states for each in state.tensors.values())

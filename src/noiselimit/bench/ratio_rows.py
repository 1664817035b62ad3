"""Rows that are a ratio of two ways, measured in turn (A B A B …), so that a disturbance meets both."""

from collections.abc import Callable, Mapping
from statistics import median
from typing import TypeVar

from noiselimit.bench.entries import Entry, timed_entry
from noiselimit.bench.session import Session, Tell
from noiselimit.bench.timing import Timed, time_training
from noiselimit.bench.work import DIGITS_CE, DIGITS_LIMIT, Work

Result = TypeVar("Result")


def in_turn(
    ways: Mapping[str, Callable[[], Result]], repeats: int, tell: Tell, warm_up: int = 1
) -> dict[str, list[Result]]:
    """Every way `repeats` times, after `warm_up` rounds that do not count; each round begins with another."""
    results: dict[str, list[Result]] = {name: [] for name in ways}
    rounds = warm_up + repeats
    for number in range(rounds):
        names = list(ways)
        for place, name in enumerate(names[number % len(names) :] + names[: number % len(names)]):
            result = ways[name]()
            if number >= warm_up:
                results[name].append(result)
            tell((number + (place + 1) / len(names)) / rounds)
    return results


def digits_cohort(session: Session, tell: Tell) -> list[Entry]:
    """A cohort of eight over the same eight one after another, from call to return.

    Those one after another may use all threads for their one block or one thread of them; the better counts.
    """
    runs, epochs = session.effort.digits_runs, session.effort.epochs["digits"]

    def one_after_another(threads_per_block: int) -> Callable[[], float]:
        def work() -> float:
            singles = [_digits(session, 1, epochs, threads_per_block, run) for run in range(runs)]
            return sum(single.whole_seconds for single in singles)

        return work

    cohorts: list[Timed] = []

    def cohort() -> float:
        cohorts.append(_digits(session, runs, epochs, 1))
        return cohorts[-1].whole_seconds

    ways = {"cohort": cohort, "one after another, one thread each": one_after_another(1)}
    if session.threads > 1:
        ways["one after another, all threads in one block"] = one_after_another(session.threads)
    seconds = in_turn(ways, session.effort.repeats, tell)
    medians = {name: median(values) for name, values in seconds.items()}
    together = medians["cohort"]
    timed = cohorts[-1]
    entry = timed_entry(timed, session.cost(timed), together / runs / epochs)
    return [
        {
            "row": "digits-cohort",
            **entry,
            "ratio": together / min(value for name, value in medians.items() if name != "cohort"),
            "repeats": session.effort.repeats,
            "threads": session.threads,
            "seconds_of": seconds,
            "medians_of": medians,
        }
    ]


def digits_step(session: Session, tell: Tell) -> list[Entry]:
    """An epoch of LIMIT over an epoch of cross-entropy, one run and one thread."""
    epochs, warm_up = session.effort.epochs["digits"], session.effort.warm_up

    def way(work: Work) -> Callable[[], Timed]:
        return lambda: _timed(session, work, 1, epochs, warm_up, threads=1, threads_per_block=1)

    timed = in_turn({"limit": way(DIGITS_LIMIT), "ce": way(DIGITS_CE)}, session.effort.repeats, tell)
    seconds = {name: [s for each in all_ for s in each.counted_seconds] for name, all_ in timed.items()}
    medians = {name: median(values) for name, values in seconds.items()}
    one = timed["limit"][-1]
    return [
        {
            "row": "digits-step",
            **timed_entry(one, session.cost(one), medians["limit"]),
            "ratio": medians["limit"] / medians["ce"],
            "repeats": len(seconds["limit"]),
            "threads": 1,
            "seconds_of": seconds,
            "medians_of": medians,
        }
    ]


def _digits(session: Session, runs: int, epochs: int, threads_per_block: int, first_run: int = 0) -> Timed:
    return _timed(
        session,
        DIGITS_LIMIT,
        runs,
        epochs,
        0,
        threads=session.threads,
        threads_per_block=threads_per_block,
        first_run=first_run,
    )


def _timed(
    session: Session,
    work: Work,
    runs: int,
    epochs: int,
    warm_up: int,
    *,
    threads: int,
    threads_per_block: int,
    first_run: int = 0,
) -> Timed:
    return time_training(
        work,
        session.data("digits"),
        runs,
        device=session.device,
        threads=threads,
        threads_per_block=threads_per_block,
        epochs=epochs,
        warm_up=warm_up,
        train_size=session.effort.digits_train,
        first_run=first_run,
        way=session.way,
    )

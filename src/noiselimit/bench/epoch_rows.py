"""Rows that are seconds per run and epoch: one training, or the best of several sizes of cohort."""

from noiselimit.bench.entries import Entry, timed_entry
from noiselimit.bench.session import Session, Tell
from noiselimit.bench.work import CIFAR_CE, CIFAR_LIMIT, MNIST, Work


def mnist_cohort(session: Session, tell: Tell) -> list[Entry]:
    """The best K; the others stand beside it under `tried`. A K that fails does not count."""
    sizes = session.effort.cohort_sizes
    costs = [float(size) for size in sizes]
    tried: list[Entry] = []
    failures: list[str] = []
    for number, size in enumerate(sizes):
        before, whole = sum(costs[:number]), sum(costs)

        def part(share: float, before: float = before, size: int = size, whole: float = whole) -> None:
            tell((before + share * size) / whole)

        try:
            timed = session.time(MNIST, size, tell=part)
        except RuntimeError as error:
            failures.append(f"K = {size}: {error}")
            continue
        tried.append(timed_entry(timed, session.cost(timed)))
    if not tried:
        raise RuntimeError("; ".join(failures))
    best = min(tried, key=lambda entry: entry["seconds"])
    return [{"row": "mnist-cohort", **best, "tried": tried, "failures": failures}]


def mnist_one(session: Session, tell: Tell) -> list[Entry]:
    return _one("mnist-one", MNIST, session, tell)


def cifar_limit(session: Session, tell: Tell) -> list[Entry]:
    return _one("cifar-limit", CIFAR_LIMIT, session, tell)


def cifar_ce(session: Session, tell: Tell) -> list[Entry]:
    return _one("cifar-ce", CIFAR_CE, session, tell)


def _one(name: str, work: Work, session: Session, tell: Tell) -> list[Entry]:
    timed = session.time(work, 1, tell=tell)
    return [{"row": name, **timed_entry(timed, session.cost(timed))}]

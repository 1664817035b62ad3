"""The rows of the table: how each is measured, and what it is measured against."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from noiselimit.bench.entries import Entry
from noiselimit.bench.epoch_rows import cifar_ce, cifar_limit, mnist_cohort, mnist_one
from noiselimit.bench.ratio_rows import digits_cohort, digits_step
from noiselimit.bench.session import Session, Tell
from noiselimit.bench.set_up import EPOCHS, set_up
from noiselimit.bench.work import CIFAR_CE, CIFAR_LIMIT, DIGITS_LIMIT, MNIST
from noiselimit.errors import InputError, unknown


@dataclass(frozen=True)
class Figures:
    """What a row is held against."""

    author: float | None = None
    """Seconds of the author's code on an H200."""
    aim: float | None = None
    """The row should be at most this: seconds on an H200, or a ratio on two CPU cores."""


@dataclass(frozen=True)
class Row:
    """A thing to measure."""

    measure: Callable[[Session, Tell], list[Entry]]
    operations: Callable[[Session], float]
    """About how much arithmetic that is, for the time left."""
    usual_on: tuple[str, ...]
    """Device types on which it is measured unasked."""
    only_on: str | None = None


def _digits_operations(session: Session) -> float:
    effort = session.effort
    cohort = session.expected_operations(DIGITS_LIMIT, effort.digits_runs, effort.digits_train)
    return cohort * (effort.repeats + 1)


ROWS: dict[str, Row] = {
    "mnist-cohort": Row(
        mnist_cohort,
        lambda session: session.expected_operations(MNIST, sum(session.effort.cohort_sizes)),
        ("cuda",),
    ),
    "mnist-one": Row(mnist_one, lambda session: session.expected_operations(MNIST, 1), ("cuda",)),
    "cifar-limit": Row(cifar_limit, lambda session: session.expected_operations(CIFAR_LIMIT, 1), ("cuda",)),
    "cifar-ce": Row(cifar_ce, lambda session: session.expected_operations(CIFAR_CE, 1), ("cuda",)),
    "digits-cohort": Row(digits_cohort, lambda s: 3 * _digits_operations(s), ("cpu",), only_on="cpu"),
    "digits-step": Row(digits_step, lambda s: _digits_operations(s) / 4, ("cpu",), only_on="cpu"),
    "set-up": Row(
        set_up,
        lambda s: 2 * EPOCHS * s.expected_operations(MNIST if s.device.type == "cuda" else DIGITS_LIMIT, 1),
        ("cuda", "cpu"),
    ),
}

FIGURES = {
    "mnist-cohort": Figures(2.6, 0.012),
    "mnist-one": Figures(2.6, 0.08),
    "cifar-limit": Figures(8.8, 2.6),
    "cifar-ce": Figures(None, 1.4),
    "set-up-cold": Figures(None, 20.0),
    "set-up-warm": Figures(None, 20.0),
    "digits-cohort": Figures(None, 0.7),
    "digits-step": Figures(None, 2.3),
}


def figures_for(name: str, session: Session) -> Figures:
    """What the row is held against: nothing where its size or its device is not the one the figures mean."""
    meant_for = "cpu" if name.startswith("digits") else "cuda"
    if session.effort.quick or session.device.type != meant_for:
        return Figures()
    return FIGURES[name]


def chosen_rows(names: Sequence[str] | None, device_type: str) -> list[str]:
    """The rows asked for, in the table's order; without a word those usual on the device."""
    if names is None:
        return [name for name, row in ROWS.items() if device_type in row.usual_on]
    if set(names) == {"none"}:
        return []
    if "none" in names:
        raise InputError(
            f"rows is '{','.join(names)}': none stands alone, so leave out either it or the rest."
        )
    for name in names:
        if name not in ROWS:
            raise unknown("row", name, [*ROWS, "none"])
        only = ROWS[name].only_on
        if only is not None and only != device_type:
            raise InputError(f"row '{name}' compares ways to use the cores of a CPU: add --device cpu.")
    return [name for name in ROWS if name in names]

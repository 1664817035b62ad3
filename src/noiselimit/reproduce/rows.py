"""A result: one line for every run, whatever table or figure it serves, made at any time and place."""

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any, TypeVar

Item = TypeVar("Item")
_DIGITS = frozenset("0123456789")
_OF_NUMBERS = _DIGITS | frozenset("+-.eE")

RowKey = tuple[str, str, float | None, int | None, str, str, int, int, str, bool]
"""What a run is, but for how many epochs it was allowed."""


@dataclass(frozen=True)
class ResultRow:
    """One run. The first fields say which, the others what came of it."""

    data: str
    """The paper's name of the data set."""
    noise: str
    """none, uniform, pair or real."""
    p: float | None
    """How often a label that noise may change is changed, 0 without noise; None where the noise is real."""
    n: int | None
    """Training examples, by the paper's number; None: all."""
    method: str
    hyper: str
    """What was searched, as in 'beta=10 sigma=0.03'; empty where nothing is."""
    seed: int
    epochs: int
    """At most."""
    patience: int
    network: str
    precision: str
    quick: bool
    """Whether it is a quick trial on small data, which counts for nothing."""
    epochs_run: int
    best_epoch: int
    validation_accuracy: float | None
    """At the best epoch, on noisy labels; these three are shares, None where training failed at once."""
    validation_loss: float | None
    test_accuracy: float | None
    bootstrap_std: float | None
    """Of the test accuracy, over 1000 resamples of the test examples."""
    gap_auc: float | None
    """Of the training labels; None without a predictor or without wrong labels."""
    seconds: float
    """The run's share of the time that its cohort took."""
    failure: str
    """Why training failed, or empty."""
    device: str
    versions: str
    commit: str
    """Of the source, with a plus where the package had been changed since; empty where it is not known."""
    date: str

    @property
    def key(self) -> RowKey:
        """Rows with equal keys are of one run, perhaps with different limits of epochs."""
        return (
            self.data,
            self.noise,
            self.p,
            self.n,
            self.method,
            self.hyper,
            self.seed,
            self.patience,
            self.network,
            self.quick,
        )

    @property
    def has_result(self) -> bool:
        """Whether an epoch was chosen; then the run counts, even if it failed later: no other would be."""
        return self.validation_accuracy is not None and self.test_accuracy is not None

    @property
    def is_exhausted(self) -> bool:
        """Whether it ended by itself, so that more epochs would change nothing."""
        return bool(self.failure) or self.epochs_run < self.epochs

    def serves(self, epochs: int) -> bool:
        """Whether a run that may take so many epochs need not be trained any more."""
        return self.epochs >= epochs or self.is_exhausted


COLUMNS = tuple(field.name for field in fields(ResultRow))
HEADER = ",".join(COLUMNS)


def line_of(row: ResultRow) -> str:
    """The row as a line of CSV, without its end."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(_text(getattr(row, name)) for name in COLUMNS)
    return text.getvalue()


def split_line(line: str) -> list[str]:
    """The values of a line by itself: a quotation mark that nobody closed takes no further lines with it."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error as error:
        raise ValueError(str(error)) from None


def row_of(values: Sequence[str]) -> ResultRow:
    """The inverse; a ValueError where the line is none of ours."""
    if len(values) != len(COLUMNS):
        raise ValueError("another number of columns")
    found: dict[str, Any] = dict(zip(COLUMNS, values, strict=True))
    for name in ("seed", "epochs", "patience", "epochs_run", "best_epoch"):
        found[name] = _whole_number(name, found[name])
    found["n"] = _whole_number("n", found["n"]) if found["n"] else None
    found["seconds"] = _number("seconds", found["seconds"])
    for name in ("p", "validation_accuracy", "validation_loss", "test_accuracy", "bootstrap_std", "gap_auc"):
        found[name] = _number(name, found[name]) if found[name] else None
    if found["quick"] not in ("yes", "no"):
        raise ValueError("quick is yes or no")
    found["quick"] = found["quick"] == "yes"
    return ResultRow(**found)


def current_rows(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """One row for each run: that with the most epochs allowed, of equals the first that was there."""
    return current(rows, lambda row: row)


def current(items: Iterable[Item], row_of_item: Callable[[Item], ResultRow]) -> list[Item]:
    """The same of whatever has a row."""
    found: dict[RowKey, Item] = {}
    for item in items:
        row = row_of_item(item)
        other = None if row.key not in found else row_of_item(found[row.key])
        if other is None or row.epochs > other.epochs:
            found[row.key] = item
    return list(found.values())


def hyper_text(hyper: dict[str, float]) -> str:
    """{'beta': 10.0} → 'beta=10'."""
    return " ".join(f"{name}={value:g}" for name, value in hyper.items())


def number_or_nan(text: str) -> float:
    """What somebody typed as a number; NaN, which equals nothing, where it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"  # no more digits than anybody reads keep the files small
    # What could steer a terminal or end a line is refused where rows are read: a device may have any name.
    words = " ".join(str(value).split())
    return "" if value is None else "".join(each if each.isprintable() else "\ufffd" for each in words)


def _whole_number(name: str, text: str) -> int:
    # Python alone would take 1_0, blanks around it and the digits of all scripts.
    if _DIGITS.issuperset(text.removeprefix("-")):
        with suppress(ValueError):  # no digit, or thousands
            return int(text)
    raise ValueError(f"{name} is {text!r}, and no whole number")


def _number(name: str, text: str) -> float:
    if _OF_NUMBERS.issuperset(text):
        with suppress(ValueError):
            value = float(text)
            if math.isfinite(value):
                return value
    raise ValueError(f"{name} is {text!r}, and no number to reckon with")

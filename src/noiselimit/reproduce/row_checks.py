"""Whether a row can be one of ours: files come from elsewhere, and what they say names files here."""

import math
from datetime import datetime

from noiselimit.networks import NETWORKS
from noiselimit.networks.dotted import is_dotted
from noiselimit.reproduce.protocol import GRIDS, protocol_for
from noiselimit.reproduce.rows import ResultRow, hyper_text
from noiselimit.reproduce.studies import STUDIES

SHARES = ("p", "validation_accuracy", "test_accuracy", "bootstrap_std", "gap_auc")
COUNTS = ("n", "seed", "epochs", "patience", "epochs_run", "best_epoch", "seconds")
ALL_OR_NONE = ("validation_accuracy", "validation_loss", "test_accuracy", "bootstrap_std")
"""What a run has of its best epoch: all of them, or none where it failed before it had one."""
WORDS = ("failure", "device", "versions", "commit", "date")
YEAR = 366 * 24 * 3600.0
"""Seconds: no run takes longer."""
PRECISIONS = ("float32", "bfloat16")
OF_FIGURES = ((), ("dropout",), ("weight_decay",))
"""What figures search with networks of their own, beside what the tables search."""


def check_row(row: ResultRow) -> None:
    """A ValueError where no study has such a row."""
    if row.data not in STUDIES:
        raise ValueError(f"data is {row.data!r}, and not one of {', '.join(STUDIES)}")
    study = STUDIES[row.data]
    if row.method not in study.methods:
        raise ValueError(f"method is {row.method!r}, and not one of {', '.join(study.methods)}")
    noises = tuple(dict.fromkeys(["none", *(cell.noise for cell in study.cells)]))
    if row.noise not in noises:
        raise ValueError(f"noise is {row.noise!r}, and not one of {', '.join(noises)}")
    for name in SHARES:
        share = getattr(row, name)
        if share is not None and not 0 <= share <= 1:
            raise ValueError(f"{name} is {share:g}, and no share from 0 to 1")
    for name in COUNTS:
        if (getattr(row, name) or 0) < 0:
            raise ValueError(f"{name} is {getattr(row, name)}, and below 0")
    if row.seconds > YEAR:
        raise ValueError(f"seconds is {row.seconds:g}, and a year has {YEAR:.0f}")
    problems = {(cell.row_noise, cell.p, cell.n) for cell in study.cells}
    if (row.noise, row.p, row.n) not in problems:
        raise ValueError(f"noise {row.noise} with p {row.p} and n {row.n} is no problem of {row.data}")
    if row.precision not in PRECISIONS:
        raise ValueError(f"precision is {row.precision!r}, and not one of {', '.join(PRECISIONS)}")
    if not row.best_epoch <= row.epochs_run <= row.epochs:
        ran = f"epoch {row.best_epoch} is the best of {row.epochs_run}"
        raise ValueError(f"{ran}, and at most {row.epochs} were allowed")
    if row.epochs_run < row.epochs and row.epochs_run <= row.patience and not row.failure:
        ended = f"it ended after {row.epochs_run} of {row.epochs} epochs without a failure"
        raise ValueError(f"{ended}, and patience is {row.patience}")
    if not row.quick and row.epochs > protocol_for(row.data).epochs:
        raise ValueError(f"epochs is {row.epochs}, and the most are {protocol_for(row.data).epochs}")
    for name in WORDS:
        if not getattr(row, name).isprintable():
            raise ValueError(f"{name} is {getattr(row, name)!r}, and has characters that nobody can see")
    _check_network(row.network)
    _check_results(row)
    _check_date(row.date)
    _check_hyper(row)


def _check_network(name: str) -> None:
    if name not in NETWORKS and not is_dotted(name):
        known = f"one of {', '.join(sorted(NETWORKS))}"
        raise ValueError(f"network is {name!r}, and neither {known} nor as in 'package.module:factory'")


def _check_results(row: ResultRow) -> None:
    """Half of a result would be shown as a run that failed at once, or as one without any spread."""
    there = [name for name in ALL_OR_NONE if getattr(row, name) is not None]
    if there and len(there) < len(ALL_OR_NONE):
        missing = ", ".join(name for name in ALL_OR_NONE if name not in there)
        raise ValueError(f"{missing} is empty, and {', '.join(there)} is not")
    if there and row.best_epoch == 0:
        raise ValueError(f"best_epoch is 0, and {there[0]} is not empty")
    if not there and row.best_epoch > 0:
        raise ValueError(f"best_epoch is {row.best_epoch}, and {ALL_OR_NONE[0]} is empty")
    if not there and row.gap_auc is not None:
        raise ValueError(f"gap_auc is {row.gap_auc:g}, and {ALL_OR_NONE[0]} is empty")
    if not there and not row.failure:
        raise ValueError("there is neither a result nor a failure")
    # Whatever the method minimises, this is the cross-entropy of its classifier.
    if row.validation_loss is not None and row.validation_loss < 0:
        raise ValueError(f"validation_loss is {row.validation_loss:g}, and below 0")


def _check_date(date: str) -> None:
    try:
        known = datetime.fromisoformat(date).tzinfo is not None
    except ValueError:
        known = False
    if not known:
        raise ValueError(f"date is {date!r}, and not as in 2026-01-31T12:00:00+00:00")


def _check_hyper(row: ResultRow) -> None:
    pairs = [part.partition("=") for part in row.hyper.split(" ")] if row.hyper else []
    names = tuple(name for name, _, _ in pairs)
    known = {tuple(GRIDS[row.method])}
    if row.network != protocol_for(row.data, quick=row.quick).network:
        known |= set(OF_FIGURES)
    if names not in known:
        searched = " or ".join(sorted(" ".join(f"{name}=…" for name in each) or "nothing" for each in known))
        raise ValueError(f"hyper is {row.hyper!r}, but of {row.method} it has {searched}")
    # In no other writing: the values of a grid are told apart by their text.
    if hyper_text({name: _number(value) for name, _, value in pairs}) != row.hyper:
        raise ValueError(f"hyper is {row.hyper!r}, and not as in 'beta=10'")


def _number(text: str) -> float:
    """What is no number comes out as another text than went in."""
    try:
        return float(text) if math.isfinite(float(text)) else 0.0
    except ValueError:
        return 0.0

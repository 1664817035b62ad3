"""What a report contains, and how its numbers and names are written."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:  # charts need no torch
    from noiselimit.runs.run import Run

BASELINE = "ce"
"""The method that others are compared with; its curves stand out."""
LONG_CELL = 60
"""Characters from which a value is a text."""
DASH = "–"
SPACE = "\u00a0"
_SYMBOLS = {"beta": "β", "sigma": "σ", "penalty": "λ"}
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, eq=False)
class RunLine:
    """A run on a page: a row of the table and a line in each chart."""

    run: "Run"
    chosen: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings in which the runs of the page differ, except method, hyper-parameters and seed."""


@dataclass(frozen=True, eq=False)
class Suspect:
    """An example whose given label is probably wrong."""

    index: int
    given: str
    suggested: str
    gap: float
    clean: str | None = None
    image: npt.NDArray[np.generic] | None = None
    """Image [1 or 3, H, W] with uint8 or float values."""
    columns: Sequence[tuple[str, str]] = ()
    """Names and values of features, if there is no image."""
    name: str | None = None
    error: float | None = None
    """Probability that the given label is wrong; None: the card shows the gap."""
    pair: int | None = None
    """Number of the class pair by which the page can be filtered."""
    why: str = ""
    """Why the label is in doubt."""

    @property
    def is_long(self) -> bool:
        """Whether a value needs a line of its own."""
        return any(len(value) > LONG_CELL for _, value in self.columns)

    @property
    def verdict(self) -> str | None:
        """`found`, `half` (given and suggested label are wrong), `right`; None if unknown."""
        if self.clean is None:
            return None
        if self.given == self.clean:
            return "right"
        return "found" if self.suggested == self.clean else "half"


@dataclass(frozen=True, eq=False)
class Report:
    """Contents of the page about runs, from top to bottom."""

    title: str
    sentence: str
    runs: Sequence[RunLine] = ()
    _: KW_ONLY
    scores: Mapping[str, npt.NDArray[np.floating]] = field(default_factory=dict)
    """Name of one or two groups of labels → their gaps [n], in an audit their probabilities of being wrong.
    The second group holds wrong labels."""
    suspects: Sequence[Suspect] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    clean_test: bool = True
    wrong_share: float | None = None
    """Share of wrong training labels; training accuracy above 1 − wrong_share means memorising."""


class Confusion(NamedTuple):
    """Estimated number of labels given as one class that belong to another."""

    given: str
    right: str
    labels: float


class Pair(NamedTuple):
    """Labels that are shown as one class and probably belong to another; both empty: all further pairs."""

    given: str
    suggested: str
    flagged: int


@dataclass(frozen=True, eq=False, kw_only=True)
class AuditReport(Report):
    """Contents of the page about an audit; `suspects` are the flagged labels in the order of the page."""

    flagged: str
    flags: int
    """Number of flagged labels; with none, the suspects are the worst labels."""
    warning: str = ""
    explanation: str
    """What the estimate and its interval mean; empty without an estimate."""
    class_names: Sequence[str]
    transition: npt.NDArray[np.floating] | None
    """P(given | true) [C true, C given]; None for too many classes or without an estimate."""
    confusions: Sequence[Confusion]
    threshold: float | None
    """The probability of being wrong from which labels are flagged; None if none is."""
    pairs: Sequence[Pair] = ()
    """Class pairs of flagged labels, the commonest first; `Suspect.pair` counts them from 0."""
    by_class: Sequence[tuple[str, int, int]] = ()
    """(given class, its flagged labels, all its labels), the class with most flagged labels first."""
    unflagged_classes: Sequence[str] = ()


def finite(value: float | None) -> float | None:
    """The value, or None if it is missing, NaN or infinite."""
    return None if value is None or not math.isfinite(value) else float(value)


def percent(value: float | None, digits: int = 1) -> str:
    """0.981 → `98.1 %`, with a no-break space; a dash if the value is unknown."""
    value = finite(value)
    return DASH if value is None else f"{100 * value:.{digits}f}{SPACE}%"


def likelihood(value: float) -> str:
    """A probability in whole per cent, never 0 or 100, because nothing is certain: `> 99 %`."""
    if value > 0.995:
        return f">{SPACE}99{SPACE}%"
    return f"<{SPACE}1{SPACE}%" if value < 0.005 else percent(value, 0)


def decimal(value: float | None, digits: int = 3) -> str:
    """0.9991 → `0.999`; a dash if the value is unknown."""
    value = finite(value)
    return DASH if value is None else f"{value:.{digits}f}"


def plain(value: float | None) -> str:
    """10.0 → `10`, 0.001 → `0.001`; a dash if the value is unknown."""
    value = finite(value)
    return DASH if value is None else f"{value:g}"


def symbol(hyper: str) -> str:
    """The Greek letter of a hyper-parameter (β), or its name in words."""
    return _SYMBOLS.get(hyper, hyper.replace("_", " "))


def run_name(line: RunLine, seed: bool = False, joined: str = ", ") -> str:
    """`limit-l, β 10, seed 0`; `joined` separates the method from the rest."""
    spec = line.run.spec
    parts = [f"{symbol(name)}{SPACE}{plain(value)}" for name, value in spec.hyper.items()]
    parts += [f"{symbol(name)}{SPACE}{value}" for name, value in line.settings.items()]
    if seed:
        parts.append(f"seed{SPACE}{spec.seed}")
    return joined.join([spec.method, ", ".join(parts)]) if parts else spec.method


def shorten(text: str, most: int) -> str:
    """At most `most` characters, ending in an ellipsis if the text was cut."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def legal(text: str) -> str:
    """Replace characters that XML or UTF-8 cannot hold by �."""
    return _NOT_XML.sub("\ufffd", text)


def result_sentence(
    lines: Sequence[RunLine], wrong_share: float | None = None, *, clean_test: bool = True
) -> str:
    """`With 40 % wrong training labels, limit-l at β 10 reaches 98.1 % ...; cross-entropy ends at 67.2 %.`

    The runs are on one problem. Several seeds give means over the runs that differ only in the seed.
    """
    chosen = [line for line in lines if line.chosen]
    chosen = [line for line in chosen if run_name(line) == run_name(chosen[0])]
    # Cross-entropy with the settings of the chosen run, or else of the first cross-entropy run.
    baseline = [line for line in lines if line.run.spec.method == BASELINE]
    alike = [line for line in baseline if chosen and line.settings == chosen[0].settings]
    alike = alike or [line for line in baseline if line.settings == baseline[0].settings]
    reached, ended = _mean(chosen, "test_accuracy"), _mean(alike, "last_test_accuracy")
    is_baseline = bool(chosen) and chosen[0].run.spec.method == BASELINE
    clauses = []
    if reached:
        name = "cross-entropy" if is_baseline else run_name(chosen[0], joined=" at ")
        clauses.append(
            f"{name} reaches {reached[0]} on {'clean' if clean_test else 'the'} test labels{reached[1]}"
        )
    elif chosen:
        clauses.append(f"validation selected {run_name(chosen[0], seed=True)}")
    if ended:
        subject = "its last epoch" if is_baseline and reached else "cross-entropy"
        clauses.append(f"{subject} ends at {ended[0]}{ended[1]}")
    if not clauses:
        clauses.append("1 run was trained" if len(lines) == 1 else f"{len(lines)} runs were trained")
    share = finite(wrong_share)
    start = "" if share is None else f"With {percent(share, 0)} wrong training labels, "
    sentence = start + "; ".join(clauses) + "."
    return sentence[0].upper() + sentence[1:]


def _mean(lines: Sequence[RunLine], name: str) -> tuple[str, str] | None:
    """The mean of a metric, and how many runs it is of; None if it is unknown."""
    values = [value for line in lines if (value := finite(line.run.metrics[name])) is not None]
    if not values:
        return None
    return percent(fmean(values)), f" (mean of {len(values)} runs)" if len(values) > 1 else ""

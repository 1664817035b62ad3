"""The result in one sentence, made from the runs."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np
import numpy.typing as npt

from noiselimit.errors import InputError

BASELINE = "ce"
"""The method that every other one is compared with: its curves are drawn beside those of the chosen run."""


@dataclass(frozen=True, eq=False)
class RunLine:
    """One run: a row of the table and a line in each chart. A number that is not known is None."""

    method: str
    """Name of the method, such as `limit-l`."""
    hyper: Mapping[str, float]
    """Hyper-parameters by name, such as `beta`; only those the method has."""
    seed: int
    """Seed of the run."""
    chosen: bool = False
    """Whether validation chose this run."""
    test_accuracy: float | None = None
    """Accuracy on the test labels at the chosen epoch, in [0, 1]."""
    last_test_accuracy: float | None = None
    """Accuracy on the test labels at the last epoch, in [0, 1]."""
    memorised_wrong_labels: float | None = None
    """Share of the wrong training labels that the classifier reproduces, in [0, 1]."""
    gap_auc: float | None = None
    """ROC AUC of the gap as a detector of wrong labels, in [0, 1]."""
    best_epoch: int | None = None
    """The epoch that was kept."""
    history: Sequence[Mapping[str, float | None]] = ()
    """One row an epoch: epoch and, where known, the accuracies and memorised_bits of noise_entropy."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """What else tells this run from the others on the page, such as its learning rate, for reading."""
    note: str = ""
    """A remark shown under the method, such as why the run failed."""


@dataclass(frozen=True, eq=False)
class Suspect:
    """One example whose given label is probably wrong."""

    index: int
    """Its position in the training data."""
    given: str
    """The label it came with."""
    suggested: str
    """The label that the method would give it."""
    gap: float
    """Its gap, in [0, √2]."""
    clean: str | None = None
    """The true label, where it is known."""
    image: npt.NDArray[np.generic] | None = None
    """Picture [C, H, W] or [H, W], with uint8 or float values."""
    values: str | None = None
    """What to show when there is no picture: the features as text."""
    columns: Sequence[tuple[str, str]] = ()
    """What to show of a row of a table: names of columns and what they hold."""
    name: str | None = None
    """What the example is called where it came from, such as a file."""

    @property
    def verdict(self) -> str | None:
        """`found`, `half` (given label is wrong, so is the suggestion), `right`; None if nobody knows."""
        if self.clean is None:
            return None
        if self.given == self.clean:
            return "right"
        return "found" if self.suggested == self.clean else "half"


@dataclass(frozen=True, eq=False)
class Report:
    """Everything on the page, from top to bottom."""

    title: str
    """Heading of the page."""
    sentence: str
    """The result in one sentence."""
    runs: Sequence[RunLine] = ()
    """Every run, in the order of the table."""
    gaps_right: npt.NDArray[np.floating] = field(default_factory=lambda: np.empty(0))
    """Gaps [n] of the examples with a right label, or of all examples where clean labels are unknown."""
    gaps_wrong: npt.NDArray[np.floating] | None = None
    """Gaps [m] of the examples with a wrong label; None where clean labels are unknown."""
    suspects: Sequence[Suspect] = ()
    """The examples to look at first, most suspicious first."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What was run: data set, noise, sizes, seeds, epochs, seconds, hardware, versions."""
    clean_test: bool = True
    """Whether the test labels are known to be clean."""
    wrong_share: float | None = None
    """Share of wrong training labels: training accuracy above 1 − wrong_share means memorising."""

    def __post_init__(self) -> None:
        for name, gaps in (("gaps_right", self.gaps_right), ("gaps_wrong", self.gaps_wrong)):
            if gaps is not None and gaps.ndim != 1:
                raise InputError(f"{name} has shape {list(gaps.shape)}: pass one gap per example, shape [n].")


DASH = "–"
SPACE = "\u00a0"
_SYMBOLS = {"beta": "β", "sigma": "σ", "penalty": "λ"}
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def known(value: float | None) -> float | None:
    """The value, or None if it is missing, NaN or infinite."""
    return None if value is None or not math.isfinite(value) else float(value)


def percent(value: float | None, digits: int = 1) -> str:
    """0.981 → `98.1 %` (with a space that does not break); an en dash if the value is not known."""
    value = known(value)
    return DASH if value is None else f"{100 * value:.{digits}f}{SPACE}%"


def decimal(value: float | None, digits: int = 3) -> str:
    """0.9991 → `0.999`; an en dash if the value is not known."""
    value = known(value)
    return DASH if value is None else f"{value:.{digits}f}"


def plain(value: float | None) -> str:
    """10.0 → `10`, 0.001 → `0.001`; an en dash if the value is not known."""
    value = known(value)
    return DASH if value is None else f"{value:g}"


def symbol(hyper: str) -> str:
    """The letter of a hyper-parameter where it has one (β), or its name in words."""
    return _SYMBOLS.get(hyper, hyper.replace("_", " "))


def run_name(run: RunLine, seed: bool = False, joined: str = ", ") -> str:
    """`limit-l, β 10` and, if asked, `, seed 0`; `joined` stands between the method and what follows."""
    parts = [f"{symbol(name)}{SPACE}{plain(value)}" for name, value in run.hyper.items()]
    parts += [f"{symbol(name)}{SPACE}{value}" for name, value in run.settings.items()]
    if seed:
        parts.append(f"seed{SPACE}{run.seed}")
    return joined.join([run.method, ", ".join(parts)]) if parts else run.method


def shorten(text: str, most: int) -> str:
    """At most `most` characters, the last one an ellipsis if something was cut."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def legal(text: str) -> str:
    """The text with characters that neither XML nor UTF-8 can carry replaced by �."""
    return _NOT_XML.sub("\ufffd", text)


@dataclass(frozen=True)
class Confusion:
    """Labels that were given as one class and belong to another."""

    given: str
    right: str
    labels: float
    """How many, estimated."""


@dataclass(frozen=True, eq=False)
class Gallery:
    """The most suspicious examples of one given class."""

    heading: str
    flagged: int
    """Labels of the class that are flagged."""
    examples: int
    """All of the class."""
    suspects: Sequence[Suspect]
    """Worst first."""


@dataclass(frozen=True, eq=False)
class AuditReport:
    """Everything on the page, from top to bottom."""

    title: str
    sentence: str
    """How many labels are wrong, in words."""
    flagged: str
    """How many labels are flagged and why so many, in words."""
    explanation: str
    """What the estimate and its interval mean; empty where there is none."""
    class_names: Sequence[str]
    transition: npt.NDArray[np.floating] | None
    """P(given | right) [C right, C given]; None where there are too many classes to draw, or no estimate."""
    confusions: Sequence[Confusion]
    """The largest, largest first."""
    gaps_kept: npt.NDArray[np.floating]
    """Gaps [n] of the labels that are not flagged."""
    gaps_flagged: npt.NDArray[np.floating]
    """Gaps [m] of those that are."""
    threshold: float
    """The gap from which on labels are flagged; above √2 if none is."""
    galleries: Sequence[Gallery]
    """By given class, the one with most flagged labels first."""
    warning: str = ""
    """Why the page is not to be trusted, if so."""
    worst: Sequence[Suspect] = ()
    """The most suspicious of all classes, worst first; none where one gallery shows them already."""
    other_classes: Sequence[tuple[str, int]] = ()
    """Classes with flagged labels that have no gallery, and how many are flagged."""
    unflagged_classes: Sequence[str] = ()
    """Classes without a flagged label."""
    runs: Sequence[RunLine] = ()
    """Those whose learning curves are drawn."""
    clean_test: bool = False
    """Whether their test labels are known to be clean."""
    wrong_share: float | None = None
    """The estimated share of wrong labels, a line in the chart of training accuracy; None where none is."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What was run."""


def result_sentence(
    runs: Sequence[RunLine], wrong_share: float | None = None, *, clean_test: bool = True
) -> str:
    """`With 40 % wrong training labels, limit-l at β 10 reaches 98.1 % ...; cross-entropy ends at 67.2 %.`

    The runs are on one problem. Over several seeds it gives means: of the chosen runs that differ from the
    first chosen one in the seed only, and of the cross-entropy runs of its settings (or else of their first).
    """
    chosen = [run for run in runs if run.chosen]
    chosen = [run for run in chosen if run_name(run) == run_name(chosen[0])]
    reached = _known_of([run.test_accuracy for run in chosen])
    ended = _known_of([run.last_test_accuracy for run in _baseline(runs, chosen)])
    labels = "clean test labels" if clean_test else "the test labels"
    clauses = []
    if chosen and reached:
        name = "cross-entropy" if chosen[0].method == BASELINE else run_name(chosen[0], joined=" at ")
        clauses.append(f"{name} reaches {percent(fmean(reached))} on {labels}{_over(reached)}")
    elif chosen:
        clauses.append(f"validation chose {run_name(chosen[0], seed=True)}")
    if ended:
        subject = "its last epoch" if chosen and chosen[0].method == BASELINE and reached else "cross-entropy"
        clauses.append(f"{subject} ends at {percent(fmean(ended))}{_over(ended)}")
    if not clauses:
        clauses.append("1 run was trained" if len(runs) == 1 else f"{len(runs)} runs were trained")
    share = known(wrong_share)
    start = "" if share is None else f"With {percent(share, 0)} wrong training labels, "
    text = start + "; ".join(clauses) + "."
    return text[0].upper() + text[1:]


def _baseline(runs: Sequence[RunLine], chosen: Sequence[RunLine]) -> list[RunLine]:
    baseline = [run for run in runs if run.method == BASELINE]
    for model in (*chosen[:1], *baseline[:1]):
        alike = [run for run in baseline if run.settings == model.settings]
        if alike:
            return alike
    return []


def _known_of(values: Sequence[float | None]) -> list[float]:
    return [value for value in map(known, values) if value is not None]


def _over(values: Sequence[float]) -> str:
    return f" (mean of {len(values)} runs)" if len(values) > 1 else ""

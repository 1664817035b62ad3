"""What a report contains, and how its numbers and names are written."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np
import numpy.typing as npt

BASELINE = "ce"
"""The method that others are compared with; its curves stand out."""
DASH = "–"
SPACE = "\u00a0"
_SYMBOLS = {"beta": "β", "sigma": "σ", "penalty": "λ"}
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, eq=False)
class RunLine:
    """One run: a row of the table and a line in each chart. Unknown numbers are None."""

    method: str
    hyper: Mapping[str, float]
    """Hyper-parameters of the method by name, such as `beta`."""
    seed: int
    chosen: bool = False
    test_accuracy: float | None = None
    last_test_accuracy: float | None = None
    memorised_wrong_labels: float | None = None
    gap_auc: float | None = None
    best_epoch: int | None = None
    history: Sequence[Mapping[str, float | None]] = ()
    """One row per epoch, with accuracies and, if known, memorised_bits and noise_entropy."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Other settings in which the runs of the page differ."""
    note: str = ""
    """A remark below the method, such as why the run failed."""


@dataclass(frozen=True, eq=False)
class Suspect:
    """An example whose given label is probably wrong."""

    index: int
    given: str
    suggested: str
    gap: float
    clean: str | None = None
    image: npt.NDArray[np.generic] | None = None
    """Picture [C, H, W] or [H, W], with uint8 or float values."""
    columns: Sequence[tuple[str, str]] = ()
    """Names and values of features, if there is no picture."""
    name: str | None = None

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
    gaps_right: npt.NDArray[np.floating] = field(default_factory=lambda: np.empty(0))
    """Gaps [n] of examples with a correct label, or of all examples if clean labels are unknown."""
    gaps_wrong: npt.NDArray[np.floating] | None = None
    """Gaps [m] of examples with a wrong label; None if clean labels are unknown."""
    suspects: Sequence[Suspect] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    clean_test: bool = True
    wrong_share: float | None = None
    """Share of wrong training labels; training accuracy above 1 − wrong_share means memorising."""


@dataclass(frozen=True)
class Confusion:
    """Estimated number of labels given as one class that belong to another."""

    given: str
    right: str
    labels: float


@dataclass(frozen=True, eq=False)
class Gallery:
    """The most suspicious examples of one given class, and how many of its labels are flagged."""

    heading: str
    flagged: int
    examples: int
    suspects: Sequence[Suspect]


@dataclass(frozen=True, eq=False)
class AuditReport:
    """Contents of the page about an audit, from top to bottom."""

    title: str
    sentence: str
    flagged: str
    explanation: str
    """What the estimate and its interval mean; empty without an estimate."""
    class_names: Sequence[str]
    transition: npt.NDArray[np.floating] | None
    """P(given | true) [C true, C given]; None for too many classes or without an estimate."""
    confusions: Sequence[Confusion]
    gaps_kept: npt.NDArray[np.floating]
    gaps_flagged: npt.NDArray[np.floating]
    threshold: float
    """The gap from which labels are flagged; above √2 if none is."""
    galleries: Sequence[Gallery]
    """By given class, the class with most flagged labels first."""
    warning: str = ""
    worst: Sequence[Suspect] = ()
    """The worst labels of all classes; empty if there is only one gallery."""
    other_classes: Sequence[tuple[str, int]] = ()
    """Classes with flagged labels but without a gallery, and their numbers of flagged labels."""
    unflagged_classes: Sequence[str] = ()
    runs: Sequence[RunLine] = ()
    clean_test: bool = False
    wrong_share: float | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


def finite(value: float | None) -> float | None:
    """The value, or None if it is missing, NaN or infinite."""
    return None if value is None or not math.isfinite(value) else float(value)


def percent(value: float | None, digits: int = 1) -> str:
    """0.981 → `98.1 %`, with a no-break space; a dash if the value is unknown."""
    value = finite(value)
    return DASH if value is None else f"{100 * value:.{digits}f}{SPACE}%"


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


def run_name(run: RunLine, seed: bool = False, joined: str = ", ") -> str:
    """`limit-l, β 10, seed 0`; `joined` separates the method from the rest."""
    parts = [f"{symbol(name)}{SPACE}{plain(value)}" for name, value in run.hyper.items()]
    parts += [f"{symbol(name)}{SPACE}{value}" for name, value in run.settings.items()]
    if seed:
        parts.append(f"seed{SPACE}{run.seed}")
    return joined.join([run.method, ", ".join(parts)]) if parts else run.method


def shorten(text: str, most: int) -> str:
    """At most `most` characters, ending in an ellipsis if the text was cut."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def legal(text: str) -> str:
    """Replace characters that XML or UTF-8 cannot hold by �."""
    return _NOT_XML.sub("\ufffd", text)


def result_sentence(
    runs: Sequence[RunLine], wrong_share: float | None = None, *, clean_test: bool = True
) -> str:
    """`With 40 % wrong training labels, limit-l at β 10 reaches 98.1 % ...; cross-entropy ends at 67.2 %.`

    The runs are on one problem. Several seeds give means over the runs that differ only in the seed.
    """
    chosen = [run for run in runs if run.chosen]
    chosen = [run for run in chosen if run_name(run) == run_name(chosen[0])]
    reached = [value for run in chosen if (value := finite(run.test_accuracy)) is not None]
    ended = [
        value for run in _baseline(runs, chosen) if (value := finite(run.last_test_accuracy)) is not None
    ]
    labels = "clean test labels" if clean_test else "the test labels"
    is_baseline = bool(chosen) and chosen[0].method == BASELINE
    clauses = []
    if reached:
        name = "cross-entropy" if is_baseline else run_name(chosen[0], joined=" at ")
        clauses.append(f"{name} reaches {percent(fmean(reached))} on {labels}{_over(reached)}")
    elif chosen:
        clauses.append(f"validation selected {run_name(chosen[0], seed=True)}")
    if ended:
        subject = "its last epoch" if is_baseline and reached else "cross-entropy"
        clauses.append(f"{subject} ends at {percent(fmean(ended))}{_over(ended)}")
    if not clauses:
        clauses.append("1 run was trained" if len(runs) == 1 else f"{len(runs)} runs were trained")
    share = finite(wrong_share)
    start = "" if share is None else f"With {percent(share, 0)} wrong training labels, "
    sentence = start + "; ".join(clauses) + "."
    return sentence[0].upper() + sentence[1:]


def _baseline(runs: Sequence[RunLine], chosen: Sequence[RunLine]) -> list[RunLine]:
    """Cross-entropy runs with the settings of the chosen run, or else of the first cross-entropy run."""
    baseline = [run for run in runs if run.method == BASELINE]
    for model in (*chosen[:1], *baseline[:1]):
        alike = [run for run in baseline if run.settings == model.settings]
        if alike:
            return alike
    return []


def _over(values: Sequence[float]) -> str:
    return f" (mean of {len(values)} runs)" if len(values) > 1 else ""

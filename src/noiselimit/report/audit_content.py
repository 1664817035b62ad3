"""What the report of an audit shows, as plain frozen values with nothing left to compute."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noiselimit.report.content import RunLine, Suspect


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

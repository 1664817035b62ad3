"""What a report shows, as plain frozen values: no trainer, no torch, nothing left to compute."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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

"""What was measured of a figure of a table, beside the paper's."""

from dataclasses import dataclass
from math import sqrt

from noiselimit.reproduce.paper import PaperFigure
from noiselimit.reproduce.studies import Cell

PAPER_SEEDS = 5
MARGIN = 0.1
"""Per cent, for the rounding of printed figures."""
Runs = tuple[tuple[str, int], ...]
"""Value of the grid and seed of each."""


@dataclass(frozen=True)
class CellResult:
    """What was measured of a cell; accuracies in per cent, as in the paper."""

    cell: Cell
    hyper: str
    """The value of the grid that noisy validation chose, such as 'beta=10'."""
    seeds: tuple[int, ...]
    """Of the chosen value, all that were run."""
    accuracy: float
    """Mean clean test accuracy over the seeds, each at its best noisy-validation epoch."""
    std: float
    """Over the seeds; of one seed by bootstrap of the test examples."""
    std_by: str
    """seeds or bootstrap."""
    validation_accuracy: float
    gap_auc: float | None
    """Mean over the seeds of the chosen value."""
    epochs: int
    """The lowest limit that ended a run of the chosen value; the protocol's where none did."""
    is_screened: bool
    """Whether values were compared with it after fewer epochs, though more might have changed them."""
    epochs_allowed: tuple[int, ...]
    epochs_run: tuple[int, ...]
    """Of each seed's run of the chosen value, in the order of the seeds."""
    protocol_epochs: int
    """The protocol's, also where the call that asks allows fewer."""
    values_run: int
    values_compared: int
    values: int
    """How many values of the grid have rows, were compared, and exist; fewer are stated, never silent."""
    compared_seeds: tuple[int, ...]
    """By these one was chosen: all compared values have them."""
    lacking: tuple[str, ...]
    """Values that were not compared, since they lack some of these seeds."""
    short: tuple[str, ...]
    """Values that were compared, but lack seeds of the chosen one's mean."""
    failed: Runs
    """Runs, of whatever value, that failed before there was an epoch to choose."""
    broken_off: Runs
    """Runs that failed later: the best epoch before counts."""
    precisions: tuple[str, ...]
    """In which the compared values were trained."""
    paper: PaperFigure | None

    @property
    def is_cut(self) -> bool:
        """Whether a run of the chosen value was ended by fewer epochs than the protocol's."""
        return self.epochs < self.protocol_epochs

    @property
    def difference(self) -> float | None:
        """Measured less the paper's."""
        return None if self.paper is None else self.accuracy - self.paper.accuracy

    @property
    def shown_difference(self) -> float | None:
        """Of the figures as they are printed, so that a reader who subtracts finds the same."""
        return None if self.paper is None else round(self.accuracy, 1) - self.paper.accuracy

    @property
    def threshold(self) -> float | None:
        """The least accuracy that agrees with the paper."""
        return None if self.paper is None else least_agreeing(self.paper, len(self.seeds))

    @property
    def meets(self) -> bool | None:
        """Whether the measured accuracy reaches it; None where the paper has none."""
        return None if self.threshold is None else self.accuracy >= self.threshold


def least_agreeing(paper: PaperFigure, seeds: int) -> float:
    """The paper's value − 2·√(s²/5 + s²/m) − 0.1: below it a mean over m seeds is unlikely to be the same."""
    return paper.accuracy - tolerated(seeds) * paper.std - MARGIN


def most_agreeing(paper: PaperFigure, seeds: int) -> float:
    """As far above the paper's value as the least is below it."""
    return 2 * paper.accuracy - least_agreeing(paper, seeds)


def tolerated(seeds: int) -> float:
    """How far a mean over so many seeds may be below the paper's, in the paper's standard deviations."""
    return 2 * sqrt(1 / PAPER_SEEDS + 1 / seeds)

"""The state of a row at the end of an epoch: all that its further training depends on besides its spec.

Random numbers are functions of seed and step, so there is no generator in it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from noiselimit.cohort.outcome import Record


@dataclass(frozen=True, eq=False)
class RowState:
    """On the CPU. Where the row trains there too, its tensors are those that training goes on to change."""

    epoch: int
    """How many epochs are done."""
    step: int
    """How many steps were taken in them."""
    history: tuple[Record, ...]
    """Of all these epochs; it also tells which was the best, and when patience ends."""
    capacity: float
    estimate: float
    """What the meter of memorised noise has added up, and its least estimate so far."""
    channels_last: bool
    """How the weights of convolutions are stored in the vectors of weights; see `Packing`."""
    tensors: Mapping[str, Tensor]
    """Weights, the best epoch's, the optimiser's state and statistics of both networks (`classifier.…` and
    `predictor.…`), `transition`, and what who looks on has heard (`watched.…`)."""
    seconds: float = 0.0
    """How long the row has trained."""


Take = Callable[[], Mapping[int, RowState]]
"""Makes the states of the rows that a block still trains, by the numbers that the block was given."""

Keep = Callable[[Take, Callable[[], int]], None]
"""(take, says how many bytes that needs): called at the end of an epoch, to take states or to leave it."""


class Keeper(Protocol):
    """Keeps the states of a cohort's rows, by position."""

    def epochs(self, rows: Sequence[int]) -> list[int]:
        """The epochs from which these rows can go on; 0 is the beginning."""

    def states(self, rows: Sequence[int]) -> list[RowState]:
        """Of rows that can go on from an epoch other than 0."""

    def of_block(self, rows: Sequence[int]) -> Keep:
        """Who keeps the states of a block of these rows, which starts now."""

    def save(self) -> None:
        """Keep what is at hand: the training ends early, and soon."""

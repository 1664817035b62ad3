"""The state of a row at the end of an epoch: all that its further training depends on besides its spec.

Random numbers are functions of seed and step, so there is no generator in it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from torch import Tensor

from noiselimit.engine.rows import State

Record = Mapping[str, float | int | None]
"""One epoch of one run, as it stands in history.jsonl."""

MEASURED = frozenset(
    {
        "epoch",
        "step",
        "learning_rate",
        "train_loss",
        "train_accuracy",
        "validation_loss",
        "validation_accuracy",
    }
)
WHERE_KNOWN = frozenset({"test_accuracy", "noise_entropy", "memorised_bits", "wrong_fitted", "capacity_bits"})
"""What a record says: numbers, and numbers or None."""

OnEpoch = Callable[[int, Record], None]
"""(row, the epoch's record)."""


class Stopped(Exception):  # noqa: N818  # no error: somebody wished it
    """Ends a training whose caller asked for it; what has ended is kept, and so are checkpoints."""


@dataclass(frozen=True, eq=False)
class Scores:
    """What the networks say of the examples of one part, in the part's order."""

    classifier: Tensor
    """float32 [m, C] class probabilities softmax(a)."""
    predictor: Tensor | None
    """float32 [m, C] softmax(r), when the method has a predictor."""


@dataclass(frozen=True, eq=False)
class RunResult:
    """What a row leaves behind."""

    row: int
    """Its number among the rows the block was given."""
    history: tuple[Record, ...]
    best_epoch: int
    failure: str | None
    """Why the run failed, or None."""
    classifier: State | None = None
    predictor: State | None = None
    """State dicts of the best epoch."""
    best: Mapping[str, Scores] = field(default_factory=dict)
    """Part name → scores at the best epoch: train, validation and, if there is one, test."""
    last: Scores | None = None
    """Scores of the training part at the last epoch. A run that could not begin has none of these."""
    callback_result: Any = None
    """What who looked on kept of it; nothing where it failed."""
    transition: Tensor | None = None
    """[C, C] that the method corrected by, if it did."""


@dataclass(frozen=True)
class BestEpoch:
    """The best epoch so far: highest validation accuracy; ties go to the lower loss, then to the earlier."""

    epoch: int = 0
    accuracy: float = -1.0
    loss: float = float("inf")
    rose_at: int = 0
    """The last epoch whose accuracy was higher than all before; patience counts from here."""

    @classmethod
    def of(cls, history: Iterable[Record]) -> "BestEpoch":
        """The best of the epochs that these records tell of."""
        best = cls()
        for record in history:
            accuracy, loss = record["validation_accuracy"], record["validation_loss"]
            assert accuracy is not None
            assert loss is not None
            best = best.after(int(record["epoch"] or 0), accuracy, loss)
        return best

    def after(self, epoch: int, accuracy: float, loss: float) -> "BestEpoch":
        """The best epoch once this one is known too."""
        if accuracy > self.accuracy:
            return BestEpoch(epoch, accuracy, loss, rose_at=epoch)
        if accuracy == self.accuracy and loss < self.loss:
            return replace(self, epoch=epoch, loss=loss)
        return self

    def exhausted(self, epoch: int, patience: int) -> bool:
        """Whether `patience` epochs have passed without a higher accuracy."""
        return epoch - self.rose_at >= patience


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


class Checkpointer(Protocol):
    """Keeps the states of a cohort's rows, by position."""

    def epochs(self, rows: Sequence[int]) -> list[int]:
        """The epochs from which these rows can go on; 0 is the beginning."""

    def states(self, rows: Sequence[int]) -> list[RowState]:
        """Of rows that can go on from an epoch other than 0."""

    def of_block(self, rows: Sequence[int]) -> Keep:
        """Who keeps the states of a block of these rows, which starts now."""

    def save(self) -> None:
        """Keep what is at hand: the training ends early, and soon."""

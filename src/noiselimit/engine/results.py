"""The rows of a block, what training returns for them, and the states that checkpoints save."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from noiselimit.engine.preparation import PreparedRun
from noiselimit.runs.spec import RunSpec

State = Mapping[str, Tensor]
"""A state dict."""

Record = Mapping[str, float | int | None]
"""One epoch of one run, as in history.jsonl."""

OnEpoch = Callable[[int, Record], None]
"""(row, the epoch's record)."""


class Stopped(Exception):  # noqa: N818  # not an error
    """Training ended because `stop` returned True. Finished runs and checkpoints are kept."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Class probabilities of the examples of one part, float32 [m, C]."""

    classifier: Tensor
    predictor: Tensor | None
    """None if the method has no predictor."""


@dataclass(frozen=True, eq=False)
class RunResult:
    """The result of one row."""

    row: int  # its position among the specs of the cohort
    history: tuple[Record, ...]
    best_epoch: int
    failure: str | None
    """Why the run failed, or None."""
    classifier: State | None = None
    predictor: State | None = None
    """State dicts of the best epoch."""
    best: Mapping[str, Scores] = field(default_factory=dict)
    """Scores at the best epoch, by part: train, validation and, if there is one, test."""
    last: Scores | None = None  # scores of the training part at the last epoch
    callback_result: Any = None  # what the block's callback returned for the row; None if the run failed
    transition: Tensor | None = None  # the transition matrix [C, C] of methods that use one


@dataclass(frozen=True)
class BestEpoch:
    """The best epoch so far: highest validation accuracy; ties go to the lower loss, then to the earlier."""

    epoch: int = 0
    accuracy: float = -1.0
    loss: float = float("inf")
    rose_at: int = 0  # the last epoch with a higher accuracy than all before; patience counts from here

    @classmethod
    def of(cls, history: Iterable[Record]) -> "BestEpoch":
        """The best epoch of a history."""
        best = cls()
        for record in history:
            accuracy, loss = record["validation_accuracy"], record["validation_loss"]
            assert accuracy is not None
            assert loss is not None
            best = best.after(int(record["epoch"] or 0), accuracy, loss)
        return best

    def after(self, epoch: int, accuracy: float, loss: float) -> "BestEpoch":
        """The best epoch including this one."""
        if accuracy > self.accuracy:
            return BestEpoch(epoch, accuracy, loss, rose_at=epoch)
        if accuracy == self.accuracy and loss < self.loss:
            return replace(self, epoch=epoch, loss=loss)
        return self

    def exhausted(self, epoch: int, patience: int) -> bool:
        """Whether `patience` epochs have passed without a higher accuracy."""
        return epoch - self.rose_at >= patience


@dataclass(eq=False)
class Row:
    """A run while it trains in a block, which holds its networks and data in stacked tensors."""

    number: int  # its position among the specs of the cohort
    spec: RunSpec
    prepared: PreparedRun
    parent: State | None = None  # the classifier of the run it starts from
    transition: Tensor | None = None  # the transition matrix [C, C] of methods that use one
    history: list[Record] = field(default_factory=list)
    best: BestEpoch = field(default_factory=BestEpoch)
    failure: str | None = None
    finished: bool = False
    """A finished row may still take part, if removing it would take longer."""

    def ends_after(self, epoch: int) -> bool:
        """Whether this epoch is its last."""
        over = epoch >= self.spec.epochs or self.best.exhausted(epoch, self.spec.patience)
        return self.failure is not None or over


@dataclass(frozen=True, eq=False)
class RowState:
    """The state of a row at the end of an epoch, on the CPU.

    Random numbers are functions of seed and step, so no generator is saved. If the row trains on the CPU, the
    tensors are the live ones, which the next step changes.
    """

    epoch: int  # finished epochs
    step: int  # steps taken in them
    history: tuple[Record, ...]
    channels_last: bool  # how the weights of convolutions are stored in the vectors of weights; see `Packing`
    tensors: Mapping[str, Tensor]
    """Weights, best weights, optimiser state and statistics of both networks (`classifier.…` and
    `predictor.…`), `transition`, and the callback's state (`watched.…`)."""


States = Sequence[tuple[RunSpec, RowState]]
"""The states of the rows that a block still trains."""

SaveStates = Callable[[Callable[[], States], Callable[[], int], bool], None]
"""(take the states, how many bytes they need, whether training stops): called after each epoch."""

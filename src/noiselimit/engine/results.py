"""The rows of a block, what training returns for them, and the states that checkpoints save."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(eq=False)
class Row:
    """A run while it trains in a block, which holds its networks and data in stacked tensors."""

    number: int  # its position among the specs of the cohort
    spec: RunSpec
    prepared: PreparedRun
    parent: State | None = None  # the classifier of the run it starts from
    transition: Tensor | None = None  # the transition matrix [C, C] of methods that use one
    history: list[Record] = field(default_factory=list)
    best_epoch: int = 0
    rose_at: int = 0
    """The last epoch with a higher validation accuracy than all before; patience counts from here."""
    failure: str | None = None
    finished: bool = False
    """A finished row may still take part, if removing it would take longer."""

    _rank: tuple[float, float] = (-1.0, -math.inf)

    def add(self, record: Mapping[str, Any]) -> None:
        """Extend the history.

        The best epoch has the highest validation accuracy; ties go to the lower loss, then to the earlier.
        """
        self.history.append(record)
        rank = (record["validation_accuracy"], -record["validation_loss"])
        if rank[0] > self._rank[0]:
            self.rose_at = record["epoch"]
        if rank > self._rank:
            self.best_epoch, self._rank = record["epoch"], rank

    def ends_after(self, epoch: int) -> bool:
        """Whether this epoch is its last."""
        over = epoch >= self.spec.epochs or epoch - self.rose_at >= self.spec.patience
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

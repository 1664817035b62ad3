"""What training says while it runs and leaves behind when a row is done."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from noiselimit.cohort.rows import State

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
class Finished:
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
    watched: Any = None
    """What who looked on kept of it; nothing where it failed."""
    transition: Tensor | None = None
    """[C, C] that the method corrected by, if it did."""

    def at(self, position: int) -> "Finished":
        """The same under the number by which the caller knows the row."""
        return replace(self, row=position)

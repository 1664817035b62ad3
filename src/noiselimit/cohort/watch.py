"""Who looks on while rows train: hears what the networks say of the examples, and changes nothing in it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from noiselimit.cohort.block_data import BlockData
from noiselimit.cohort.outcome import Scores
from noiselimit.spec import RunSpec


class Watch(Protocol):
    """Of K rows, P with a predictor. A recorded step adds to its tensors: they stay where they are."""

    def begin(self, epoch: int, specs: Sequence[RunSpec]) -> None:
        """From here on it is this epoch, counted from 1, of the K runs."""

    def wants_validated(self, epoch: int, specs: Sequence[RunSpec]) -> bool:
        """Whether `add_validated` shall be called at the end of this epoch."""

    def add_trained(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        """Of a training step: positions [K, B], logits [K, B, C] and those of predictors [P, B, C]."""

    def add_validated(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        """Validation examples likewise, as they are evaluated."""

    def of_row(self, row: int, last: Scores) -> Any:
        """What to keep of a row that is done, on the CPU; `last` are its last scores of training examples."""

    def held(self, row: int, spec: RunSpec, epoch: int) -> Mapping[str, Tensor]:
        """All that it has heard of a row by the end of this epoch: the tensors themselves or views of them,
        to be copied, or to be filled in where a row goes on from there."""

    def keep(self, rows: Sequence[int]) -> Self:
        """For these rows alone."""


MakeWatch = Callable[[Sequence[RunSpec], BlockData, int, int, torch.device], Watch]
"""(specs of K rows, their data, P, C, device) → who looks on."""

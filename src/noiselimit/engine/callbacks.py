"""Callbacks that observe the training of a block, and the averages of probabilities.

Probabilities averaged over the second half of the epochs separate wrong labels from right ones better than
those of the best or the last epoch. For training examples they are those of the training steps, so no pass
over the data is added. For validation examples they are those of the evaluation after each epoch.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from noiselimit.engine.block_data import BlockData
from noiselimit.engine.results import Scores
from noiselimit.runs.spec import RunSpec


class Callback(Protocol):
    """Observes K rows, P of them with a predictor, and changes nothing in training.

    A CUDA graph adds to its tensors, so they must stay where they are.
    """

    def on_epoch_start(self, epoch: int, specs: Sequence[RunSpec]) -> None:
        """Called before each epoch, counted from 1."""

    def on_train_batch(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        """Called in each step: positions [K, B], logits [K, B, C], predictor logits [P, B, C]."""

    def needs_validation(self, epoch: int, specs: Sequence[RunSpec]) -> bool:
        """Whether to call `on_validation_batch` after this epoch."""

    def on_validation_batch(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        """Called for each batch of the validation part."""

    def result(self, row: int, last: Scores) -> Any:
        """The result of a finished row, on the CPU; `last`: its last scores of the training examples."""

    def state(self, row: int, spec: RunSpec, epoch: int) -> Mapping[str, Tensor]:
        """The live tensors of a row after this epoch: checkpoints copy them, resumed rows fill them in."""

    def select(self, rows: Sequence[int]) -> Self:
        """The callback of these rows alone."""


MakeCallback = Callable[[Sequence[RunSpec], BlockData, int, int, torch.device], Callback]
"""(specs of K rows, their data, P, number of classes, device) → callback."""


def is_averaged(spec: RunSpec, epoch: int) -> bool:
    """Whether this epoch, counted from 1, is in the second half of the planned ones."""
    return epoch > spec.epochs // 2


class Averages:
    """Sums of the probabilities of K rows on the device: 4 bytes × examples × classes for each network.

    The m training examples come first, then the v validation examples. If vectors are read from a file, both
    networks share a sum, which halves the memory.
    """

    def __init__(
        self, specs: Sequence[RunSpec], data: BlockData, predictors: int, classes: int, device: torch.device
    ) -> None:
        rows, examples = len(specs), len(data.train) + len(data.validation)
        self.trained = len(data.train)  # m
        self.task = data.task
        self.classifier = torch.zeros(rows, examples, classes, device=device)
        self.shared = data.train.in_file
        own = 0 if self.shared else predictors
        self.predictor = torch.zeros(own, examples, classes, device=device)
        # How many probabilities were added; a balanced order repeats some examples.
        self.times = torch.zeros(rows, examples, device=device)
        self.active = torch.zeros(rows, device=device)  # 1 in rows whose second half has begun, else 0

    def on_epoch_start(self, epoch: int, specs: Sequence[RunSpec]) -> None:
        self.active.copy_(torch.tensor([float(is_averaged(spec, epoch)) for spec in specs]))

    def needs_validation(self, epoch: int, specs: Sequence[RunSpec]) -> bool:
        return any(is_averaged(spec, epoch) for spec in specs)

    def on_validation_batch(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        self.on_train_batch(positions + self.trained, logits, predicted)

    @torch.no_grad()
    def on_train_batch(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        self.times.scatter_add_(1, positions, self.active[:, None].expand(positions.shape))
        active = self.active[:, None, None]
        if self.shared and predicted is not None:
            active = active.clone()
            active[: len(predicted)] /= 2
        for sums, own in ((self.classifier, logits), (self.predictor, predicted)):
            if own is not None:
                there = positions[: len(own), :, None].expand(own.shape)
                sums = self.classifier if self.shared else sums
                sums.scatter_add_(1, there, self.task.mean(own, torch.float32) * active[: len(own)])

    def result(self, row: int, last: Scores) -> dict[str, Scores] | None:
        """Mean probabilities by part; None if training ended before its second half.

        On a CPU the sums themselves become the means, to save memory. Training examples that a balanced
        order never visited get their `last` scores.
        """
        times = self.times[row].cpu()[:, None]
        if not times.any():
            return None

        def mean(sums: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
            train, validation = sums.cpu().div_(times).tensor_split([self.trained])
            never = times[: self.trained, 0] == 0
            if never.any():
                train[never] = last[never]
            return train, validation

        classifier = mean(self.classifier[row], last.classifier)
        predictor: tuple[Tensor | None, Tensor | None] = (None, None)
        if last.predictor is not None and not self.shared:
            predictor = mean(self.predictor[row], last.predictor)
        parts = zip(("train", "validation"), classifier, predictor, strict=True)
        return {part: Scores(own, other) for part, own, other in parts}

    def state(self, row: int, spec: RunSpec, epoch: int) -> dict[str, Tensor]:
        """The row's sums; nothing before its second half."""
        if not is_averaged(spec, epoch):
            return {}
        sums = {"classifier": self.classifier[row], "times": self.times[row]}
        return sums | ({"predictor": self.predictor[row]} if row < len(self.predictor) else {})

    def select(self, rows: Sequence[int]) -> "Averages":
        chosen = copy.copy(self)
        chosen.classifier, chosen.times, chosen.active = (
            tensor[rows] for tensor in (self.classifier, self.times, self.active)
        )
        chosen.predictor = self.predictor[[row for row in rows if row < len(self.predictor)]]
        return chosen

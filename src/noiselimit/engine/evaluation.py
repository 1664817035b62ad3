"""Probabilities averaged over the second half of a run's epochs: they tell wrong labels from right ones
better than those of its best or of its last epoch.

Of a training example they are what the steps compute anyway, so that no pass over the data is added; of a
validation example they are those of the evaluation that ends an epoch.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from noiselimit.engine.block_data import BlockData, InputBatch, Part
from noiselimit.engine.pair import NetworkPair
from noiselimit.engine.results import Scores
from noiselimit.methods.method import log_likelihood
from noiselimit.runs.spec import RunSpec


def accuracy_and_loss(
    networks: NetworkPair,
    data: BlockData,
    part: Part,
    hear: Callable[[InputBatch, Tensor], None] | None = None,
) -> tuple[Tensor, Tensor]:
    """float64 [K], [K]: exact accuracy and mean cross-entropy of each row's classifier on the given labels.

    Both stay on the device, so that nothing waits for them. `hear` gets every batch with its logits.
    """
    correct = torch.zeros(len(part.index), dtype=torch.int64, device=part.index.device)
    loss = torch.zeros(len(part.index), dtype=torch.float64, device=part.index.device)
    for batch in data.whole(part):
        logits, labels = networks.said(batch.inputs), batch.labels
        correct += (logits.argmax(-1) == labels).sum(1)
        loss -= log_likelihood(logits, labels).to(torch.float64).sum(1)
        if hear is not None:
            hear(batch, logits)
    # A GPU multiplies by the reciprocal of a plain number: 6 of 10 would be more there than on a CPU, and a
    # run that goes on elsewhere would keep another epoch.
    count = torch.full_like(loss, len(part))
    return correct.to(torch.float64) / count, loss / count


def score_examples(
    networks: NetworkPair, data: BlockData, part: Part, rows: Sequence[int], *, best: bool
) -> list[Scores]:
    """What the networks of these rows say of every example; `data` and `part` hold these rows only."""
    classifiers: list[Tensor] = []
    predictors: list[Tensor] = []
    start = 0
    for batch in data.whole(part):
        own, judged = networks.probabilities(batch.inputs, rows, best=best)
        for kept, said in ((classifiers, own), (predictors, judged)):
            if said is None:
                continue
            if start == 0:  # a tensor for each row: those of rows that are done with go one by one
                kept += [torch.empty(len(part), said.shape[-1], dtype=said.dtype) for _ in said]
            for place, of_row in zip(kept, said.cpu(), strict=True):  # a GPU might not hold all of them
                place[start : start + len(of_row)] = of_row
        start += own.shape[1]
    nobody: list[None] = [None] * (len(rows) - len(predictors))
    return [Scores(own, judged) for own, judged in zip(classifiers, [*predictors, *nobody], strict=True)]


class Callback(Protocol):
    """Of K rows, P with a predictor. A recorded step adds to its tensors: they stay where they are."""

    def on_epoch_start(self, epoch: int, specs: Sequence[RunSpec]) -> None:
        """From here on it is this epoch, counted from 1, of the K runs."""

    def needs_validation(self, epoch: int, specs: Sequence[RunSpec]) -> bool:
        """Whether `on_validation_batch` shall be called at the end of this epoch."""

    def on_train_batch(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        """Of a training step: positions [K, B], logits [K, B, C] and those of predictors [P, B, C]."""

    def on_validation_batch(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        """Validation examples likewise, as they are evaluated."""

    def result(self, row: int, last: Scores) -> Any:
        """What to keep of a row that is done, on the CPU; `last` are its last scores of training examples."""

    def state(self, row: int, spec: RunSpec, epoch: int) -> Mapping[str, Tensor]:
        """All that it has heard of a row by the end of this epoch: the tensors themselves or views of them,
        to be copied, or to be filled in where a row goes on from there."""

    def select(self, rows: Sequence[int]) -> Self:
        """For these rows alone."""


MakeCallback = Callable[[Sequence[RunSpec], BlockData, int, int, torch.device], Callback]
"""(specs of K rows, their data, P, C, device) → who looks on."""


def is_averaged(spec: RunSpec, epoch: int) -> bool:
    """Whether this epoch, counted from 1, is in the second half of those planned; of an odd number the middle
    one is."""
    return epoch > spec.epochs // 2


@dataclass(frozen=True, eq=False)
class Averages:
    """Sums of the probabilities of K rows on the device: 4 bytes × examples × classes for every network.

    Training examples stand first, validation examples after them. A recorded step adds to these tensors, so
    they are changed in place and never replaced while it is in use.
    """

    classifier: Tensor
    """float32 [K, m + v, C]."""
    predictor: Tensor
    """float32 [P, m + v, C], of the first P rows."""
    times: Tensor
    """float32 [K, m + v]: how many probabilities were added; a balanced order visits some more often."""
    counts: Tensor
    """float32 [K]: 1 in rows whose second half has begun, else 0."""
    trained: int
    """m."""

    @classmethod
    def zeros(
        cls, rows: int, predictors: int, trained: int, validated: int, classes: int, device: torch.device
    ) -> "Averages":
        """Nothing added yet, in K rows of which P have a predictor."""

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=torch.float32, device=device)

        examples = trained + validated
        return cls(
            classifier=zeros(rows, examples, classes),
            predictor=zeros(predictors, examples, classes),
            times=zeros(rows, examples),
            counts=zeros(rows),
            trained=trained,
        )

    def on_epoch_start(self, epoch: int, specs: Sequence[RunSpec]) -> None:
        """From here on it is this epoch of the K runs."""
        self.counts.copy_(torch.tensor([float(is_averaged(spec, epoch)) for spec in specs]))

    def needs_validation(self, epoch: int, specs: Sequence[RunSpec]) -> bool:
        """In the second half of any of the runs."""
        return any(is_averaged(spec, epoch) for spec in specs)

    def on_train_batch(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        """Add a step's softmaxes: positions [K, B], logits [K, B, C] and those of predictors [P, B, C]."""
        self._add(positions, logits, predicted)

    def on_validation_batch(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        """Add those of validation examples likewise."""
        self._add(positions + self.trained, logits, predicted)

    @torch.no_grad()
    def _add(self, places: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        self.times.scatter_add_(1, places, self.counts[:, None].expand(places.shape))
        for sums, said in ((self.classifier, logits), (self.predictor, predicted)):
            if said is not None:
                there = places[: len(said), :, None].expand(said.shape)
                counts = self.counts[: len(said), None, None]
                sums.scatter_add_(1, there, said.softmax(-1, dtype=torch.float32) * counts)

    def result(self, row: int, last: Scores) -> dict[str, Scores] | None:
        """The means of a row, by part and on the CPU; None where training ended before its second half.

        Only of a row that is done: on a CPU its sums become the means, for which there need not be room
        beside them. A balanced order may never have come to a training example: that one keeps its `last`
        scores.
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
        if last.predictor is not None:
            predictor = mean(self.predictor[row], last.predictor)
        return {
            part: Scores(said, judged)
            for part, said, judged in zip(("train", "validation"), classifier, predictor, strict=True)
        }

    def state(self, row: int, spec: RunSpec, epoch: int) -> dict[str, Tensor]:
        """The row's sums where they lie; nothing before its second half."""
        if not is_averaged(spec, epoch):
            return {}
        sums = {"classifier": self.classifier[row], "times": self.times[row]}
        return sums | ({"predictor": self.predictor[row]} if row < len(self.predictor) else {})

    def select(self, rows: Sequence[int]) -> "Averages":
        """These rows alone, in tensors of their own."""
        return Averages(
            self.classifier[rows],
            self.predictor[[row for row in rows if row < len(self.predictor)]],
            self.times[rows],
            self.counts[rows],
            self.trained,
        )


def make_averages(
    specs: Sequence[RunSpec], data: BlockData, predictors: int, classes: int, device: torch.device
) -> Averages:
    """For a block that shall be watched by them."""
    return Averages.zeros(len(specs), predictors, len(data.train), len(data.validation), classes, device)

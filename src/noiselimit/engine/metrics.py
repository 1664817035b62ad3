"""What is measured: totals of an epoch, accuracy, loss and probabilities of a part, memorised label noise."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from noiselimit.engine.block_data import BlockData, InputBatch, Part
from noiselimit.engine.block_networks import BlockNetworks
from noiselimit.engine.results import Record, Row, Scores
from noiselimit.information import gradient_capacity
from noiselimit.information.meter import estimated_entropy, implied_bits, predictor_bits
from noiselimit.methods import get_method
from noiselimit.runs.spec import RunSpec
from noiselimit.tasks import CLASSIFICATION, Task

MOST_TALLIED_CLASSES = 64
"""Up to here our kernel is used. On an H200 it was faster than torch with 10 classes, not with 100."""

OnBatch = Callable[[InputBatch, Tensor], None]
"""(batch, the classifiers' logits [K, B, C]): called after each batch of an evaluation."""


class EpochTotals(NamedTuple):
    """Sums over an epoch, [K], on the device so that no step waits for them."""

    loss: Tensor  # float64: summed over examples
    correct: Tensor  # int64: given labels hit in training; float64 if their scores are fractions
    wrong: Tensor  # int64: wrong labels seen, if it is known which are wrong
    fitted: Tensor  # int64: wrong labels hit in training
    unsure: Tensor  # float64: entropy of the predictor's probabilities in bits; 0 in rows without predictor
    square_norm: Tensor  # float64: ‖μ‖² of the predicted gradients; likewise
    first_bad: Tensor  # int64: first step whose loss was not finite, or −1

    @classmethod
    def zeros(cls, rows: int, device: torch.device, labels: torch.dtype = torch.int64) -> "EpochTotals":
        """`labels`: their type."""
        real, whole = torch.float64, torch.int64
        types = (real, real if labels.is_floating_point else whole, whole, whole, real, real, whole)
        totals = cls(*(torch.zeros(rows, dtype=dtype, device=device) for dtype in types))
        totals.first_bad.fill_(-1)
        return totals

    def clear(self) -> None:
        """Start again, in the same tensors."""
        torch._foreach_zero_(self[:-1])
        self.first_bad.fill_(-1)

    @torch.no_grad()
    def add(
        self,
        losses: Tensor,
        logits: Tensor,
        predicted: Tensor | None,
        labels: Tensor,
        wrong: Tensor | None,
        step: Tensor,
        kernels: bool = False,
        task: Task = CLASSIFICATION,
    ) -> None:
        """Add one step: [K] losses, [K, B, C] logits, [P, B, C] predictor logits, [K, B] labels and flags.

        `kernels`: in one launch on a GPU, if there are few classes.
        """
        if kernels and task.has_classes and logits.shape[-1] <= MOST_TALLIED_CLASSES:
            from noiselimit.engine.kernels.tally import tally

            tally(self, losses, logits, predicted, labels, wrong, step)
            return
        hit = task.score(logits, labels)
        self.loss.add_(losses.to(torch.float64) * labels.shape[1])
        self.correct.add_(hit.sum(1))
        if wrong is not None:
            self.wrong.add_(wrong.sum(1))
            self.fitted.add_(((hit > 0.5) & wrong).sum(1))
        if predicted is not None:
            rows = len(predicted)
            mu = task.mean(logits[:rows]) - task.mean(predicted)
            if task.has_classes:
                self.unsure[:rows].add_(predictor_bits(predicted).sum(1))
            self.square_norm[:rows].add_(mu.square().sum((1, 2)))
        self.first_bad.copy_(torch.where((self.first_bad < 0) & ~losses.isfinite(), step, self.first_bad))


def accuracy_and_loss(
    networks: BlockNetworks, data: BlockData, part: Part, on_batch: OnBatch
) -> tuple[Tensor, Tensor]:
    """float64 [K], [K]: mean score, which is the accuracy, and mean plain loss of each row's classifier.

    Both stay on the device, so nothing waits for them.
    """
    correct = torch.zeros(len(part.index), dtype=torch.float64, device=part.index.device)
    loss = torch.zeros(len(part.index), dtype=torch.float64, device=part.index.device)
    for batch in data.batches(part):
        (logits,) = data.processes.join(len(batch), (networks.classifier_logits(batch.inputs),))
        labels = batch.labels
        correct += data.task.score(logits, labels).sum(1)
        loss += data.task.loss(logits, labels).to(torch.float64).sum(1)
        on_batch(batch, logits)
    # Divide by a tensor: a GPU multiplies by the reciprocal of a number, which rounds unlike a CPU, and a
    # resumed run could then select another epoch.
    count = torch.full_like(loss, len(part))
    return correct / count, loss / count


def recount_hits(
    totals: EpochTotals, networks: BlockNetworks, data: BlockData, on_batch: OnBatch
) -> EpochTotals:
    """The epoch's totals, with hits counted again on the training part in evaluation mode.

    With dropout, a network misses labels in training that it knows, and would seem to have memorised little.
    The tensors of `totals`, to which a CUDA graph adds, are not changed.
    """
    correct, wrong, fitted = (torch.zeros_like(totals.correct) for _ in range(3))
    for batch in data.batches(data.train):
        (logits,) = data.processes.join(len(batch), (networks.classifier_logits(batch.inputs),))
        hit = data.task.score(logits, batch.labels)
        correct += hit.sum(1)
        if batch.wrong is not None:
            wrong += batch.wrong.sum(1)
            fitted += ((hit > 0.5) & batch.wrong).sum(1)
        on_batch(batch, logits)
    return totals._replace(correct=correct, wrong=wrong, fitted=fitted)


def score_examples(
    networks: BlockNetworks, data: BlockData, part: Part, rows: Sequence[int], *, best: bool
) -> list[Scores]:
    """Means of every example, for these rows; `data` and `part` hold only these rows."""
    classifiers: list[Tensor] = []
    predictors: list[Tensor] = []
    start = 0
    for batch in data.batches(part):
        joined = networks.outputs(batch.inputs, rows, best=best)
        own, predicted = data.processes.join(len(batch), joined)
        for kept, outputs in ((classifiers, own), (predictors, predicted)):
            if outputs is None:
                continue
            found = data.task.mean(outputs)
            if start == 0:  # one tensor per row, so that each can be freed alone
                kept += [torch.empty(len(part), found.shape[-1], dtype=found.dtype) for _ in found]
            for target, of_row in zip(kept, found.cpu(), strict=True):  # a GPU might not hold all of them
                target[start : start + len(of_row)] = of_row
        start += own.shape[1]
    missing: list[None] = [None] * (len(rows) - len(predictors))
    return [Scores(own, other) for own, other in zip(classifiers, [*predictors, *missing], strict=True)]


def memorisation(
    totals: EpochTotals, rows: Sequence[Row], task: Task, classes: int, examples: int
) -> list[Record]:
    """The part of each row's next history record that measures memorised label noise, in bits per label.

    Only capacities are known of labels that are not classes.
    """
    correct, wrong, fitted = totals.correct.tolist(), totals.wrong.tolist(), totals.fitted.tolist()
    unsure, square_norm = totals.unsure.tolist(), totals.square_norm.tolist()
    records: list[Record] = []
    for i, row in enumerate(rows):
        before: Record = row.history[-1] if row.history else {}
        entropy = row.prepared.noise_entropy
        estimates = task.has_classes and get_method(row.spec.method).needs_predictor
        if entropy is None and estimates and math.isfinite(unsure[i]):
            # The lowest so far: an untrained predictor is unsure of labels that it has yet to learn.
            lowest = before.get("noise_entropy")
            estimate = estimated_entropy(unsure[i] / examples, classes)
            entropy = estimate if lowest is None else min(lowest, estimate)
        capacity = _capacity(row.spec, square_norm[i] / examples, classes)
        if capacity is not None:
            capacity += before.get("capacity_bits") or 0.0
        records.append(
            {
                "noise_entropy": entropy,
                "memorised_bits": implied_bits(1 - correct[i] / examples, entropy, classes),
                "wrong_fitted": fitted[i] / wrong[i] if wrong[i] else None,
                "capacity_bits": capacity,
            }
        )
    return records


def _capacity(spec: RunSpec, mean_square_norm: float, classes: int) -> float | None:
    """Bits per label that an epoch's sampled gradients can carry (Prop. 3.1); None if there is no bound.

    There is none for other methods, without noise, and if labels reach the weights in another way: by initial
    weights or by a sampler that depends on them.
    """
    method = get_method(spec.method)
    if spec.sampler != "shuffled" or spec.initial_weights is not None:
        return None
    if not method.needs_predictor or method.draws is None or not math.isfinite(mean_square_norm):
        return None
    sigma = spec.hyper["sigma"]
    return float(gradient_capacity(mean_square_norm, classes, sigma, method.draws)) if sigma else None

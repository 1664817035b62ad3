"""Evaluating the networks of a block: accuracy, loss, hits and class probabilities of a part."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from noiselimit.engine.block_data import BlockData, InputBatch, Part
from noiselimit.engine.block_networks import BlockNetworks
from noiselimit.engine.metrics import EpochTotals
from noiselimit.engine.results import Scores
from noiselimit.methods.method import log_likelihood

OnBatch = Callable[[InputBatch, Tensor], None]
"""(batch, the classifiers' logits [K, B, C]): called after each batch of an evaluation."""


def accuracy_and_loss(
    networks: BlockNetworks, data: BlockData, part: Part, on_batch: OnBatch
) -> tuple[Tensor, Tensor]:
    """float64 [K], [K]: accuracy and mean cross-entropy of each row's classifier.

    Both stay on the device, so nothing waits for them.
    """
    correct = torch.zeros(len(part.index), dtype=torch.int64, device=part.index.device)
    loss = torch.zeros(len(part.index), dtype=torch.float64, device=part.index.device)
    for batch in data.batches(part):
        logits, labels = networks.classifier_logits(batch.inputs), batch.labels
        correct += (logits.argmax(-1) == labels).sum(1)
        loss -= log_likelihood(logits, labels).to(torch.float64).sum(1)
        on_batch(batch, logits)
    # Divide by a tensor: a GPU multiplies by the reciprocal of a number, which rounds unlike a CPU, and a
    # resumed run could then select another epoch.
    count = torch.full_like(loss, len(part))
    return correct.to(torch.float64) / count, loss / count


def recount_hits(
    totals: EpochTotals, networks: BlockNetworks, data: BlockData, on_batch: OnBatch, most: int | None = None
) -> EpochTotals:
    """The epoch's totals, with hits counted again on the training part in evaluation mode.

    With dropout, a network misses labels in training that it knows, and would seem to have memorised little.
    The tensors of `totals`, to which a CUDA graph adds, are not changed. `most` limits the batches.
    """
    correct, wrong, fitted = (torch.zeros_like(totals.correct) for _ in range(3))
    for number, batch in enumerate(data.batches(data.train), 1):
        logits = networks.classifier_logits(batch.inputs)
        hit = logits.argmax(-1) == batch.labels
        correct += hit.sum(1)
        if batch.wrong is not None:
            wrong += batch.wrong.sum(1)
            fitted += (hit & batch.wrong).sum(1)
        on_batch(batch, logits)
        if number == most:
            break
    return totals._replace(correct=correct, wrong=wrong, fitted=fitted)


def score_examples(
    networks: BlockNetworks, data: BlockData, part: Part, rows: Sequence[int], *, best: bool
) -> list[Scores]:
    """Class probabilities of every example, for these rows; `data` and `part` hold only these rows."""
    classifiers: list[Tensor] = []
    predictors: list[Tensor] = []
    start = 0
    for batch in data.batches(part):
        own, predicted = networks.probabilities(batch.inputs, rows, best=best)
        for kept, found in ((classifiers, own), (predictors, predicted)):
            if found is None:
                continue
            if start == 0:  # one tensor per row, so that each can be freed alone
                kept += [torch.empty(len(part), found.shape[-1], dtype=found.dtype) for _ in found]
            for target, of_row in zip(kept, found.cpu(), strict=True):  # a GPU might not hold all of them
                target[start : start + len(of_row)] = of_row
        start += own.shape[1]
    missing: list[None] = [None] * (len(rows) - len(predictors))
    return [Scores(own, other) for own, other in zip(classifiers, [*predictors, *missing], strict=True)]

"""Measuring the rows of a block on one part of their data, in evaluation mode."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from noiselimit.cohort.block_data import BlockData, InputBatch, Part
from noiselimit.cohort.outcome import Scores
from noiselimit.cohort.pair import NetworkPair
from noiselimit.methods.method import log_likelihood


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

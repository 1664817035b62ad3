"""Given labels that whole networks hit, for trainings that switch some of their units off."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import torch
from torch import Tensor

from noiselimit.cohort.block_data import InputBatch
from noiselimit.cohort.pair import NetworkPair
from noiselimit.cohort.totals import EpochTotals


def hits_of_whole_networks(
    totals: EpochTotals,
    networks: NetworkPair,
    batches: Iterable[InputBatch],
    hear: Callable[[InputBatch, Tensor], None],
) -> EpochTotals:
    """The totals of an epoch with labels counted anew: in these batches, in evaluation mode, weights at rest.

    A network without half of its units misses labels that it knows, and would seem to have memorised little.
    Tensors of `totals`, to which recorded steps add, stay as they are. `hear` gets every batch with its
    logits.
    """
    correct, wrong, fitted = (torch.zeros_like(totals.correct) for _ in range(3))
    for batch in batches:
        logits = networks.said(batch.inputs)
        hit = logits.argmax(-1) == batch.labels
        correct += hit.sum(1)
        if batch.wrong is not None:
            wrong += batch.wrong.sum(1)
            fitted += (hit & batch.wrong).sum(1)
        hear(batch, logits)
    return replace(totals, correct=correct, wrong=wrong, fitted=fitted)

"""In which order an epoch visits a row's training examples."""

from collections.abc import Callable

import torch
from torch import Tensor

from noiselimit.draws import permutations, random_words

Sampler = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(keys [K], epoch [], given labels [K, m]) → positions [K, m] among the row's training examples."""


def shuffled(keys: Tensor, epoch: Tensor, labels: Tensor) -> Tensor:
    """Every example once."""
    return permutations(keys, epoch, labels.shape[1])


def balanced(keys: Tensor, epoch: Tensor, labels: Tensor) -> Tensor:
    """Every given class equally often on average: draw a class that occurs, then one of its examples.

    With replacement, so examples of rare classes come several times and some of common ones not at all.
    """
    rows, count = labels.shape
    by_class = labels.argsort(dim=1, stable=True)
    sizes = torch.zeros(rows, int(labels.max()) + 1, dtype=torch.int64, device=labels.device)
    sizes.scatter_add_(1, labels, torch.ones_like(labels))
    starts = sizes.cumsum(1) - sizes
    occurring = (sizes > 0).to(torch.int64).argsort(dim=1, descending=True, stable=True)
    words = random_words(keys, epoch, count)
    # Two disjoint groups of bits: the remainders of both are even enough for counts far below 2^31.
    upper, lower = (words >> 32) & 0x7FFFFFFF, words & 0x7FFFFFFF
    classes = occurring.gather(1, upper % (sizes > 0).sum(1, keepdim=True))
    return by_class.gather(1, starts.gather(1, classes) + lower % sizes.gather(1, classes))


SAMPLERS: dict[str, Sampler] = {"shuffled": shuffled, "balanced": balanced}

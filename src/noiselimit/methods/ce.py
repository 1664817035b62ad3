"""Cross-entropy on the given labels: the baseline that memorises."""

from torch import Tensor

from noiselimit.methods.method import Batch, Hyper, Method


def loss(batch: Batch, hyper: Hyper) -> Tensor:
    """mean −log softmax(a)_y, [K]."""
    log_probabilities = batch.logits.log_softmax(-1)
    return -batch.mean(log_probabilities.gather(-1, batch.labels.unsqueeze(-1)).squeeze(-1))


METHODS = (Method("ce", loss),)

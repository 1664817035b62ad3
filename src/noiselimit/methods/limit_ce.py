"""LIMIT with a predictor that learns the labels by cross-entropy.

No distribution of gradients belongs to this error, so there is no +S variant.
"""

from noiselimit.methods._limit import limit_method
from noiselimit.methods.method import Tensor


def cross_entropy(r: Tensor, s: Tensor, y: Tensor) -> Tensor:
    """−log s_y, [K, B], from the logits, so that it stays finite where s underflows."""
    return -(y * r.log_softmax(-1)).sum(-1)


METHODS = (limit_method("limit-ce", cross_entropy, needs_classes=True),)

"""CE+GN and CE+LN: cross-entropy with noise on each example's logit gradient (paper, Sec. 4).

The noise is drawn per example. σ has the same scale as in LIMIT+S.
"""

from noiselimit.methods._limit import DEFAULT_SIGMA
from noiselimit.methods.method import Batch, Hyper, Method, Tensor


def loss(batch: Batch, hyper: Hyper) -> Tensor:
    """Cross-entropy in value, [K]; its gradient by example b's logits is (softmax(a) − y + σ·draw) / B."""
    assert batch.draws is not None
    noise = hyper["sigma"][:, None, None] * batch.draws
    # A difference of value 0 and derivative 1: the recorded loss stays the cross-entropy.
    nothing = batch.logits - batch.logits.detach()
    return batch.mean((nothing * noise).sum(-1) + batch.task.loss(batch.logits, batch.labels))


METHODS = (
    Method("ce-gn", loss, {"sigma": DEFAULT_SIGMA}, draws="gaussian", needs_classes=False),
    Method("ce-ln", loss, {"sigma": DEFAULT_SIGMA}, draws="laplace", needs_classes=False),
)

"""The plain loss on the given labels, cross-entropy of classes: the baseline that memorises."""

from noiselimit.methods.method import Batch, Hyper, Method, Tensor


def loss(batch: Batch, hyper: Hyper) -> Tensor:
    """mean −log softmax(a)_y, [K]; for other tasks the loss whose gradient by the outputs is m(a) − y."""
    return batch.mean(batch.task.loss(batch.logits, batch.labels))


METHODS = (Method("ce", loss, needs_classes=False),)

"""Mean absolute error between means and labels (Ghosh et al. 2017): robust, for classes slow to learn."""

from noiselimit.methods.method import Batch, Hyper, Method, Tensor


def loss(batch: Batch, hyper: Hyper) -> Tensor:
    """mean ‖m(a) − y‖₁, [K]; for classes 2 · mean (1 − p_y)."""
    return batch.mean(batch.task.absolute_error(batch.logits, batch.labels))


METHODS = (Method("mae", loss, needs_classes=False),)

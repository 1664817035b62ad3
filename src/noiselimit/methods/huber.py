"""Huber loss between means and labels (Huber 1964): squared for small errors, absolute for large ones."""

from noiselimit.methods.method import Batch, Hyper, Method, Tensor

DEFAULT_DELTA = 1.0


def loss(batch: Batch, hyper: Hyper) -> Tensor:
    """mean Σ ½ e² where |e| ≤ δ, else δ (|e| − δ/2), of the errors e = m(a) − y, [K]."""
    means = batch.task.mean(batch.logits)
    error = (means - batch.task.target(batch.labels, means)).abs()
    delta = hyper["delta"][:, None, None]
    inside = error.minimum(delta)
    return batch.mean((inside * (error - inside / 2)).sum(-1))


METHODS = (
    Method(
        "huber",
        loss,
        {"delta": DEFAULT_DELTA},
        {"delta": "Error from which huber is linear."},
        needs_classes=False,
    ),
)

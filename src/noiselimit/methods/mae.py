"""Mean absolute error between probabilities and one-hot labels (Ghosh et al. 2017): robust, slow to learn."""

from noiselimit.methods.method import Batch, Hyper, Method, Tensor, log_likelihood


def loss(batch: Batch, hyper: Hyper) -> Tensor:
    """mean ‖softmax(a) − y‖₁ = 2 · mean (1 − p_y), [K]; expm1 keeps the digits where p_y is near 1."""
    return -2.0 * batch.mean(log_likelihood(batch.logits, batch.labels).expm1())


METHODS = (Method("mae", loss),)

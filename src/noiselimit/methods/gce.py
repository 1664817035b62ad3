"""Generalised cross-entropy (Zhang & Sabuncu 2018): q = 0 is cross-entropy, q = 1 half of MAE."""

from noiselimit.methods.method import Batch, Hyper, Method, Tensor, log_likelihood

DEFAULT_Q = 0.7
_SMALLEST_Q = 1e-20  # stands for 0: float32 gives exactly cross-entropy, without division by zero


def loss(batch: Batch, hyper: Hyper) -> Tensor:
    """mean (1 − p_y^q) / q, [K]; from log p_y by expm1, so that neither q → 0 nor p_y → 0 loses digits."""
    q = hyper["q"].clamp_min(_SMALLEST_Q)[:, None]
    return -batch.mean((q * log_likelihood(batch.logits, batch.labels)).expm1() / q)


METHODS = (Method("gce", loss, {"q": DEFAULT_Q}, {"q": "Exponent of gce."}),)

"""LIMIT-G: the predicted gradient is the mean of a Gaussian, so the predictor's error is squared."""

from noiselimit.methods._limit import limit_method
from noiselimit.methods.method import Tensor


def squared_error(r: Tensor, s: Tensor, y: Tensor) -> Tensor:
    """‖s − y‖², [K, B]."""
    return (s - y).square().sum(-1)


METHODS = (
    limit_method("limit-g", squared_error),
    limit_method("limit-g+s", squared_error, draws="gaussian"),
    limit_method("limit-g+init", squared_error, starts="predictor"),
)

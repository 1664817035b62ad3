"""LIMIT-L: the predicted gradient is the mean of a Laplace, so the predictor's error is absolute."""

from noiselimit.methods._limit import limit_method
from noiselimit.methods.method import Tensor


def absolute_error(r: Tensor, s: Tensor, y: Tensor) -> Tensor:
    """‖s − y‖₁, [K, B]."""
    return (s - y).abs().sum(-1)


METHODS = (
    limit_method("limit-l", absolute_error),
    limit_method("limit-l+s", absolute_error, draws="laplace"),
    limit_method("limit-l+init", absolute_error, starts="predictor"),
)

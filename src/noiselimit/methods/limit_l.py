"""LIMIT-L: the predicted gradient is the mean of a Laplace, so the predictor's error is absolute."""

from torch import Tensor

from noiselimit.methods._limit import limit_variants


def absolute_error(difference: Tensor) -> Tensor:
    """‖s − y‖₁, [K, B]."""
    return difference.abs().sum(-1)


METHODS = limit_variants("limit-l", absolute_error, draws="laplace")

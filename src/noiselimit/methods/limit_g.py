"""LIMIT-G: the predicted gradient is the mean of a Gaussian, so the predictor's error is squared."""

from torch import Tensor

from noiselimit.methods._limit import limit_variants


def squared_error(difference: Tensor) -> Tensor:
    """‖s − y‖², [K, B]."""
    return difference.square().sum(-1)


METHODS = limit_variants("limit-g", squared_error, draws="gaussian")

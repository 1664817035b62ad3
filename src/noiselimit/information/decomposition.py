"""Equation 1: what the expected cross-entropy of a training consists of, for models given as tables."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from noiselimit.errors import InputError
from noiselimit.information.checks import Array, Numbers, distributions, plain
from noiselimit.information.units import Unit, from_nats


@dataclass(frozen=True, eq=False)
class Decomposition:
    """cross_entropy = label_entropy − label_information + divergence, of all n labels together."""

    cross_entropy: Numbers
    """H_{p,f}(Y|X,w) = E[−log f(Y|X,w)]: the expected training loss, summed over examples."""
    label_entropy: Numbers
    """H(Y|X): what the inputs do not tell of the labels."""
    label_information: Numbers
    """I(w;Y|X): what of it the weights hold, the memorised label noise."""
    divergence: Numbers
    """E KL[p(Y|X,w) ‖ f(Y|X,w)]: how far the classifier is from the best use of its weights."""


def decompose_cross_entropy(
    data: Any, learner: Any, classifier: Any, *, unit: Unit = "bits"
) -> Decomposition:
    """The four terms of eq. 1, exactly.

    data: [..., X, Y], the joint probabilities of whole sets of inputs and whole sets of labels;
    learner: [..., X, Y, W], the probabilities A(w|S) of the weights; classifier: [..., X, W, Y], the
    probabilities f(Y|X,w), for independent predictions the product over examples.

    As printed, the paper's last term is KL[p(Y|X) ‖ f]. The identity holds with p(Y|X,w), what is to be
    expected of the labels once the weights are known: a fair bit that w copies and f says with probability
    .9 costs .152 bits, where the printed sum is .737. A classifier that calls something impossible that
    happens has infinite cross-entropy and divergence, which are returned as such.
    """
    p = distributions("data", data, axes=2)  # [..., X, Y]
    a = distributions("learner", learner)  # [..., X, Y, W]
    f = distributions("classifier", classifier)  # [..., X, W, Y]
    if a.ndim < 3 or f.ndim < 3 or p.shape[-2:] != a.shape[-3:-1] or a.shape[-3:] != _xyw(f):
        raise InputError(
            f"shapes do not go together (data {list(p.shape)}, learner {list(a.shape)}, classifier "
            f"{list(f.shape)}): give [..., X, Y], [..., X, Y, W] and [..., X, W, Y]."
        )
    joint = p[..., None] * a  # [..., X, Y, W]
    prior = _share(p, axis=-1)[..., None]  # p(Y|X)
    posterior = _share(joint, axis=-2)  # p(Y|X,w)
    said = np.swapaxes(f, -1, -2)
    terms = (
        -_expected_log(joint, said),
        -_expected_log(joint, prior),
        np.maximum(_expected_log(joint, posterior) - _expected_log(joint, prior), 0),  # not −1e-17
        np.maximum(_expected_log(joint, posterior) - _expected_log(joint, said), 0),
    )
    return Decomposition(*(plain(from_nats(term, unit)) for term in terms))


def _xyw(classifier: Array) -> tuple[int, ...]:
    x, w, y = classifier.shape[-3:]
    return x, y, w


def _share(probability: Array, axis: int) -> Array:
    """Each entry divided by the sum over the axis, 0 where that is 0."""
    total = probability.sum(axis=axis, keepdims=True)
    return np.asarray(probability / np.where(total > 0, total, 1))


def _expected_log(weight: Array, value: Array) -> Array:
    """Σ weight · log value over the last three axes; what never happens does not count."""
    value = np.where(weight > 0, value, 1)
    with np.errstate(divide="ignore"):
        logarithm = np.where(value > 0, np.log(value), -np.inf)
    return np.asarray(np.where(weight > 0, weight * logarithm, 0).sum(axis=(-3, -2, -1)))

"""Entropies of label noise, and what the cross-entropy of a training consists of (equation 1)."""

import math
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from noiselimit.errors import InputError, unknown

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Numbers = Any  # a float if all arguments are numbers, else an array
Unit = Literal["bits", "nats"]
NATS_PER = {"bits": math.log(2), "nats": 1.0}
TOLERANCE = 1e-5  # of a sum of probabilities: enough for a softmax in single precision


def to_nats(amount: Any, unit: Unit) -> Any:
    """Convert a number or an array to nats."""
    return amount * _nats_per(unit)


def from_nats(amount: Any, unit: Unit) -> Any:
    """Convert a number or an array from nats."""
    return amount / _nats_per(unit)


def _nats_per(unit: str) -> float:
    if unit not in NATS_PER:
        raise unknown("unit", unit, NATS_PER)
    return NATS_PER[unit]


def numbers(name: str, value: Any, *, at_least: float = 0.0, at_most: float = math.inf) -> Array:
    """Return the value as an array of finite numbers in [at_least, at_most]."""
    wanted = f"number ≥ {at_least:g}" + (f" and ≤ {at_most:g}" if at_most < math.inf else "")
    return _check(name, value, f"finite {wanted}", lambda found: (found >= at_least) & (found <= at_most))


def whole_numbers(name: str, value: Any, *, at_least: int) -> Array:
    """Return the value as an array of whole numbers, stored as floats."""
    wanted = f"whole number ≥ {at_least}"
    return _check(name, value, wanted, lambda found: (found >= at_least) & (found == np.floor(found)))


def positive(name: str, value: Any) -> Array:
    """Return the value as an array of finite numbers above 0."""
    return _check(name, value, "finite number > 0", lambda found: found > 0)


def _check(name: str, value: Any, wanted: str, is_valid: Callable[[Array], Any]) -> Array:
    try:
        found = np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is {reprlib.repr(value)}: give a {wanted}.") from None
    valid = is_valid(found) & np.isfinite(found)
    if not valid.all():
        verb = "contains" if found.ndim else "is"
        raise InputError(f"{name} {verb} {found[~valid][0]:g}: give a {wanted}.")
    return found


def distributions(name: str, value: Any, *, axes: int = 1, at_least: int = 1) -> Array:
    """Return an array of `at_least` axes with probabilities that sum to exactly 1 over the last `axes`."""
    found = numbers(name, value, at_most=1)
    if found.ndim < at_least or 0 in found.shape:
        raise InputError(f"{name} has shape {list(found.shape)}: give at least {at_least} axes, none empty.")
    sums = found.sum(axis=tuple(range(-axes, 0)), keepdims=True)
    wrong = np.abs(sums - 1) > TOLERANCE
    if wrong.any():
        raise InputError(f"{name} sums to {sums[wrong][0]:.9g}: probabilities must sum to 1, so rescale it.")
    return np.asarray(found / sums)


def plain(array: Any) -> Numbers:
    """Return a float instead of an array without axes."""
    found = np.asarray(array, np.float64) + 0.0  # no negative zero
    return found if found.ndim else float(found)


def binary_nats(probability: Array) -> Array:
    """H(p) in nats; exact for small p, too."""
    other = np.log1p(-np.where(probability < 1, probability, 0))
    return -(_p_log_p(probability) + (1 - probability) * other)


def entropy_nats(distribution: Array) -> Array:
    """H in nats of distributions [..., k]."""
    return np.asarray(-_p_log_p(distribution).sum(axis=-1))


def _p_log_p(probability: Array) -> Array:
    return np.asarray(probability * np.log(np.where(probability > 0, probability, 1)))


def binary_entropy(probability: Any, *, unit: Unit = "bits") -> Numbers:
    """Entropy of a yes-no event, H(p) = −p log p − (1 − p) log(1 − p).

    Parameters
    ----------
    probability : float or array
    """
    return plain(from_nats(binary_nats(numbers("probability", probability, at_most=1)), unit))


def entropy(distribution: Any, *, unit: Unit = "bits") -> Numbers:
    """Entropy of distributions, −Σ p log p.

    Parameters
    ----------
    distribution : array [..., k]
    """
    return plain(from_nats(entropy_nats(distributions("distribution", distribution)), unit))


def uniform_noise_entropy(probability: Any, classes: Any, *, unit: Unit = "bits") -> Numbers:
    """Entropy H(y|x) = H(p) + p log(k − 1) of uniform label noise (Remark 3).

    Assumes that the input determines the clean class and is independent of the noise.

    Parameters
    ----------
    probability : float or array
        Probability p that a label becomes one of the k − 1 other classes.
    classes : int or array
        Number of classes k.
    """
    p = numbers("probability", probability, at_most=1)
    k = whole_numbers("classes", classes, at_least=2)
    return plain(from_nats(binary_nats(p) + p * np.log(k - 1), unit))


def entropy_of_transition(transition: Any, class_frequencies: Any = None, *, unit: Unit = "bits") -> Numbers:
    """Entropy H(y|x) of class-dependent noise, Σ_c P(c) H(row c).

    Assumes that the input determines the clean class and that noise depends on the class alone. Noise that
    also depends on the input has less entropy than its mean matrix.

    Parameters
    ----------
    transition : array [..., k, k]
        Row c holds the probabilities of the labels that an example of class c may get.
    class_frequencies : array [..., k], optional
        By default all classes are equally frequent.
    """
    rows = distributions("transition", transition, at_least=2)
    classes = rows.shape[-1]
    if rows.shape[-2] != classes or classes < 2:
        raise InputError(f"transition has shape {list(rows.shape)}: give [..., k, k] for k ≥ 2 classes.")
    if class_frequencies is None:
        return plain(from_nats(entropy_nats(rows).mean(axis=-1), unit))
    frequencies = distributions("class_frequencies", class_frequencies)
    if frequencies.shape[-1] != classes:
        raise InputError(f"class_frequencies has shape {list(frequencies.shape)}: give [..., {classes}].")
    return plain(from_nats((frequencies * entropy_nats(rows)).sum(axis=-1), unit))


def entropy_of_posteriors(posteriors: Any, *, unit: Unit = "bits") -> Numbers:
    """Mean entropy of p(y|x) over examples.

    Exact for the posteriors of the noise. For a network's predictions it is an estimate, which is too low if
    the network is overconfident.

    Parameters
    ----------
    posteriors : array [..., n, k]
    """
    rows = distributions("posteriors", posteriors, at_least=2)
    return plain(from_nats(entropy_nats(rows).mean(axis=-1), unit))


def entropy_of_repeated_labels(labels: Any, *, unit: Unit = "bits") -> float:
    """Estimate H(y|x) from several labels per example; too low on average, never too high.

    This is Zhang's estimator (2012). In H = Σ_{m≥1} Σ_y p_y (1 − p_y)^m / m it estimates the terms m < r
    without bias and leaves out the others. Too low is the safe side for `least_information`.

    Parameters
    ----------
    labels : int array [n, r]
        r ≥ 2 labels for each of n examples.
    """
    counts = _label_counts(labels)
    repeats = counts[0].sum()
    steps = 1 / np.arange(1, repeats)  # 1, 1/2, …, 1/(r − 1)
    weights = np.append(0, np.append(np.cumsum(steps[::-1])[::-1], 0))  # Σ_{j=c}^{r−1} 1/j for c = 0 … r
    return float(from_nats((counts / repeats * weights[counts]).sum(axis=1).mean(), unit))


def entropy_given_another_label(labels: Any, *, unit: Unit = "bits") -> float:
    """Estimate H(y|y'), an upper bound on H(y|x), from pairs of labels of the same example.

    Another label y' has no more information about y than the input has (data processing inequality). The
    estimate itself is too low by about (k² − k)/(2n) nats for k classes.

    Parameters
    ----------
    labels : int array [n, r]
        r ≥ 2 labels for each of n examples.
    """
    counts = _label_counts(labels)
    pairs = (counts.T @ counts - np.diag(counts.sum(axis=0))).astype(np.float64)  # [k, k]
    joint = pairs / pairs.sum()
    return float(from_nats(entropy_nats(joint.ravel()) - entropy_nats(joint.sum(axis=0)), unit))


def _label_counts(labels: Any) -> Labels:
    """[n, k]: how often each example got each of the labels that occur."""
    found = np.asarray(labels)
    if found.ndim != 2 or found.shape[0] < 1 or found.shape[1] < 2 or found.dtype.kind not in "iu":
        raise InputError(
            f"labels has shape {list(found.shape)} and type {found.dtype}: give [n, r ≥ 2] integers."
        )
    if found.min() < 0:
        raise InputError(f"labels contains {found.min()}: give class numbers ≥ 0.")
    names, numbered = np.unique(found, return_inverse=True)
    return np.stack([(numbered.reshape(found.shape) == k).sum(axis=1) for k in range(len(names))], axis=1)


@dataclass(frozen=True, eq=False)
class Decomposition:
    """cross_entropy = label_entropy − label_information + divergence, summed over all labels."""

    cross_entropy: Numbers
    """E[−log f(Y|X,w)]: the expected training loss."""
    label_entropy: Numbers
    """H(Y|X): the information about the labels that the inputs do not contain."""
    label_information: Numbers
    """I(w;Y|X): how much of it the weights hold, the memorised label noise."""
    divergence: Numbers
    """E KL[p(Y|X,w) ‖ f(Y|X,w)]: how far the classifier is from the best use of its weights."""


def decompose_cross_entropy(
    data: Any, learner: Any, classifier: Any, *, unit: Unit = "bits"
) -> Decomposition:
    """Compute the four terms of equation 1 exactly, for models given as tables.

    The paper prints the last term as KL[p(Y|X) ‖ f]. The identity holds with p(Y|X,w). If the classifier
    gives probability 0 to something that happens, cross-entropy and divergence are infinite.

    Parameters
    ----------
    data : array [..., X, Y]
        Joint probabilities of whole sets of inputs and whole sets of labels.
    learner : array [..., X, Y, W]
        Probabilities A(w|S) of the weights.
    classifier : array [..., X, W, Y]
        Probabilities f(Y|X,w); for independent predictions, the product over examples.
    """
    p = distributions("data", data, axes=2)
    a = distributions("learner", learner)
    f = distributions("classifier", classifier)
    xwy = (*a.shape[-3:-2], *a.shape[-1:], *a.shape[-2:-1])
    if a.ndim < 3 or p.shape[-2:] != a.shape[-3:-1] or f.shape[-3:] != xwy:
        raise InputError(
            f"shapes do not match (data {list(p.shape)}, learner {list(a.shape)}, classifier "
            f"{list(f.shape)}): give [..., X, Y], [..., X, Y, W] and [..., X, W, Y]."
        )
    f = np.swapaxes(f, -1, -2)
    joint = p[..., None] * a  # [..., X, Y, W]
    prior = _normalise(p, axis=-1)[..., None]  # p(Y|X)
    posterior = _normalise(joint, axis=-2)  # p(Y|X,w)
    terms = (
        -_expected_log(joint, f),
        -_expected_log(joint, prior),
        np.maximum(_expected_log(joint, posterior) - _expected_log(joint, prior), 0),  # not −1e-17
        np.maximum(_expected_log(joint, posterior) - _expected_log(joint, f), 0),
    )
    return Decomposition(*(plain(from_nats(term, unit)) for term in terms))


def _normalise(probability: Array, axis: int) -> Array:
    """Divide by the sum over the axis; 0 if that is 0."""
    total = probability.sum(axis=axis, keepdims=True)
    return np.asarray(probability / np.where(total > 0, total, 1))


def _expected_log(weight: Array, value: Array) -> Array:
    """Σ weight · log value over the last three axes; events of weight 0 do not count."""
    value = np.where(weight > 0, value, 1)
    with np.errstate(divide="ignore"):
        logarithm = np.where(value > 0, np.log(value), -np.inf)
    return np.asarray(np.where(weight > 0, weight * logarithm, 0).sum(axis=(-3, -2, -1)))

"""Equation 1: what the expected cross-entropy of a training consists of, for models given as tables."""

import math
import reprlib
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from noiselimit.errors import InputError, unknown

Unit = Literal["bits", "nats"]
NATS_PER = {"bits": math.log(2), "nats": 1.0}


def to_nats(amount: Any, unit: Unit) -> Any:
    """An amount of information, a number or an array, given in this unit."""
    return amount * _nats_per(unit)


def from_nats(amount: Any, unit: Unit) -> Any:
    """An amount of nats, a number or an array, in this unit."""
    return amount / _nats_per(unit)


def _nats_per(unit: str) -> float:
    if unit not in NATS_PER:
        raise unknown("unit", unit, NATS_PER)
    return NATS_PER[unit]


Array = npt.NDArray[np.float64]
Numbers = Any  # a float where all arguments were numbers, else an array of floats
TOLERANCE = 1e-5  # of a sum of probabilities, which may come from a softmax in single precision


def numbers(name: str, value: Any, *, at_least: float = 0.0, at_most: float = math.inf) -> Array:
    """The value as an array of finite numbers in [at_least, at_most]."""
    wanted = f"a number from {at_least:g} to {at_most:g}"
    if at_most == math.inf:
        wanted = f"a finite number ≥ {at_least:g}"
    found = _floats(name, value, wanted)
    _refuse_unless(np.isfinite(found) & (found >= at_least) & (found <= at_most), name, found, wanted)
    return found


def positive(name: str, value: Any) -> Array:
    """The value as an array of finite numbers above 0."""
    found = _floats(name, value, wanted := "a finite number > 0")
    _refuse_unless(np.isfinite(found) & (found > 0), name, found, wanted)
    return found


def whole_numbers(name: str, value: Any, *, at_least: int) -> Array:
    """The value as an array of whole numbers, kept as floats because formulas follow."""
    found = _floats(name, value, wanted := f"a whole number ≥ {at_least}")
    _refuse_unless(np.isfinite(found) & (found >= at_least) & (found == np.floor(found)), name, found, wanted)
    return found


def distributions(name: str, value: Any, *, axes: int = 1) -> Array:
    """The value as an array of probabilities that sum to 1 over the last axes, brought to that exactly."""
    found = numbers(name, value, at_most=1)
    if found.ndim < axes or 0 in found.shape:
        raise InputError(f"{name} is of shape {list(found.shape)}: give at least {axes} axes, none empty.")
    sums = found.sum(axis=tuple(range(-axes, 0)), keepdims=True)
    wrong = np.abs(sums - 1) > TOLERANCE
    if wrong.any():
        place = _place(name, np.argwhere(wrong)[0][:-axes])
        raise InputError(f"{place} sums to {sums[wrong][0]:.9g}: probabilities must sum to 1, so rescale it.")
    return np.asarray(found / sums)


def at_least_two_classes(name: str, distributions: Array) -> int:
    """The length of the last axis, k."""
    if distributions.shape[-1] < 2:
        raise InputError(f"{name} is for 1 class: give at least 2.")
    return int(distributions.shape[-1])


def broadcast(**arrays: Array) -> tuple[Array, ...]:
    """The arrays in one common shape."""
    try:
        return tuple(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items())
        raise InputError(f"shapes do not go together ({shapes}): give numbers or equal shapes.") from None


def plain(array: Any) -> Numbers:
    """A float in place of an array without axes."""
    found = np.asarray(array, np.float64) + 0.0  # no negative zero
    return found if found.ndim else float(found)


def _floats(name: str, value: Any, wanted: str) -> Array:
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is {reprlib.repr(value)}: give {wanted}.") from None


def _refuse_unless(good: npt.NDArray[np.bool_], name: str, found: Array, wanted: str) -> None:
    if not good.all():
        place = np.argwhere(~good)[0]
        raise InputError(f"{_place(name, place)} is {found[tuple(place)]:g}: give {wanted}.")


def _place(name: str, index: npt.NDArray[np.intp]) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if len(index) else name


def binary_entropy(probability: Any, *, unit: Unit = "bits") -> Numbers:
    """H(p) = −p log p − (1 − p) log(1 − p), elementwise; 0 at p = 0 and p = 1."""
    return plain(from_nats(binary_nats(numbers("probability", probability, at_most=1)), unit))


def entropy(distribution: Any, *, unit: Unit = "bits") -> Numbers:
    """H = −Σ p log p of distributions [..., k], as [...]."""
    return plain(from_nats(entropy_nats(distributions("distribution", distribution)), unit))


def binary_nats(probability: Array) -> Array:
    """H(p) in nats of checked probabilities; exact for small p too, where 1 − p forgets digits."""
    other = np.log1p(-np.where(probability < 1, probability, 0))
    return -(_p_log_p(probability) + (1 - probability) * other)


def entropy_nats(distribution: Array) -> Array:
    """H in nats of checked distributions [..., k]."""
    return np.asarray(-_p_log_p(distribution).sum(axis=-1))


def _p_log_p(probability: Array) -> Array:
    return np.asarray(probability * np.log(np.where(probability > 0, probability, 1)))


def uniform_noise_entropy(probability: Any, classes: Any, *, unit: Unit = "bits") -> Numbers:
    """H(p) + p log(k − 1) (Remark 3): with probability p a label becomes one of the k − 1 others.

    Assumes that the input tells the clean class and nothing of the noise.
    """
    p, k = broadcast(
        probability=numbers("probability", probability, at_most=1),
        classes=whole_numbers("classes", classes, at_least=2),
    )
    return plain(from_nats(binary_nats(p) + p * np.log(k - 1), unit))


def entropy_of_transition(transition: Any, class_frequencies: Any = None, *, unit: Unit = "bits") -> Numbers:
    """Σ_c P(c) H(row c) of a transition matrix [..., k, k] and class frequencies [..., k], as [...].

    Row c holds the probabilities of the labels that an example of class c may get. Without frequencies
    classes are equally frequent. Assumes that the input tells the clean class and that the noise looks at
    the class alone; noise that looks at the input too has less entropy than its mean matrix says.
    """
    rows = distributions("transition", transition)
    classes = at_least_two_classes("transition", rows)
    if rows.ndim < 2 or rows.shape[-2] != classes:
        raise InputError(f"transition is of shape {list(rows.shape)}: give one row and one column per class.")
    if class_frequencies is None:
        return plain(from_nats(entropy_nats(rows).mean(axis=-1), unit))
    frequencies = distributions("class_frequencies", class_frequencies)
    if frequencies.shape[-1] != classes:
        raise InputError(
            f"class_frequencies is of {frequencies.shape[-1]} classes but transition of {classes}: "
            "give one frequency per class."
        )
    weights, entropies = broadcast(class_frequencies=frequencies, rows=entropy_nats(rows))
    return plain(from_nats((weights * entropies).sum(axis=-1), unit))


def entropy_of_posteriors(posteriors: Any, *, unit: Unit = "bits") -> Numbers:
    """The mean entropy of p(y|x) over examples, of posteriors [..., n, k], as [...].

    Exact where the posteriors are those of the noise. Of a network's predictions it is an estimate, which
    is too low where the network is too sure of itself, as one that has memorised labels is.
    """
    rows = distributions("posteriors", posteriors)
    at_least_two_classes("posteriors", rows)
    if rows.ndim < 2:
        raise InputError(f"posteriors is of shape {list(rows.shape)}: give one row per example.")
    return plain(from_nats(entropy_nats(rows).mean(axis=-1), unit))


Labels = npt.NDArray[np.int64]


def entropy_of_repeated_labels(labels: Any, *, unit: Unit = "bits") -> float:
    """An estimate of H(y|x) from labels [n, r] that is too low on average, never too high.

    With c_y of the r labels of an example being y, it is the mean over examples of
    Σ_y (c_y/r) (1/c_y + 1/(c_y + 1) + … + 1/(r − 1)) nats (Zhang 2012). In
    H = Σ_{m≥1} Σ_y p_y (1 − p_y)^m / m it estimates the terms m < r without bias and leaves out the others,
    so its bias is −Σ_{m≥r} Σ_y p_y (1 − p_y)^m / m averaged over examples: 0 where labels are certain, and
    less the more labels there are. With r = 2 it is the share of pairs that disagree, in nats. Too low is the
    safe side for `least_information`, which rises with the entropy.
    """
    counts = _counts(_checked(labels))
    repeats = counts[0].sum()
    steps = 1 / np.arange(1, repeats)  # 1, 1/2, …, 1/(r − 1)
    missing = np.append(0, np.append(np.cumsum(steps[::-1])[::-1], 0))  # Σ_{j=c}^{r−1} 1/j for c = 0 … r
    return float(from_nats((counts / repeats * missing[counts]).sum(axis=1).mean(), unit))


def entropy_given_another_label(labels: Any, *, unit: Unit = "bits") -> float:
    """H(y|y'), which is at least H(y|x), from all ordered pairs of labels in [n, r].

    An example's other label y' tells of y only what the input tells, hence the direction (data processing).
    The plug-in estimate is itself too low by about (k² − k)/(2n) nats for k classes, little where n is large.
    """
    counts = _counts(_checked(labels))
    pairs = (counts.T @ counts - np.diag(counts.sum(axis=0))).astype(np.float64)  # [k, k]
    joint = pairs / pairs.sum()
    return float(from_nats(entropy_nats(joint.ravel()) - entropy_nats(joint.sum(axis=0)), unit))


def _counts(labels: Labels) -> Labels:
    """[n, k]: how often each example got each of the labels that occur."""
    kinds, numbered = np.unique(labels, return_inverse=True)
    numbered = numbered.reshape(labels.shape)
    counts = np.zeros((len(labels), len(kinds)), np.int64)
    for column in numbered.T:
        counts[np.arange(len(labels)), column] += 1
    return counts


def _checked(labels: Any) -> Labels:
    found = np.asarray(labels)
    if found.ndim != 2 or found.shape[0] < 1 or found.shape[1] < 2:
        raise InputError(
            f"labels is of shape {list(found.shape)}: give [n, r], r ≥ 2 labels for each of n examples."
        )
    if not np.issubdtype(found.dtype, np.integer) or found.min() < 0:
        raise InputError(
            "labels is not an array of whole numbers ≥ 0: give the number of a class in each place."
        )
    return found.astype(np.int64)


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

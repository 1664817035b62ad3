"""H(y|x) of a noise: how much of a label the input does not tell, on average over examples."""

from typing import Any

import numpy as np

from noiselimit.errors import InputError
from noiselimit.information.checks import (
    Numbers,
    at_least_two_classes,
    broadcast,
    distributions,
    numbers,
    plain,
    whole_numbers,
)
from noiselimit.information.entropy import binary_nats, entropy_nats
from noiselimit.information.units import Unit, from_nats


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

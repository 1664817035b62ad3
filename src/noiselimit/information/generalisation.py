"""Theorem 2.2 (Xu and Raginsky): the gap between training and test loss from the information in weights."""

from typing import Any

import numpy as np

from noiselimit.information.checks import Numbers, broadcast, numbers, plain, whole_numbers
from noiselimit.information.units import Unit, to_nats


def generalisation_gap(
    input_information: Any,
    label_information: Any,
    examples: Any,
    sigma: Any = 0.5,
    *,
    unit: Unit = "bits",
) -> Numbers:
    """√(2σ² I(w;S)/n) ≥ |E[test loss − training loss]| with I(w;S) = I(w;X) + I(w;Y|X).

    input_information: I(w;X) and label_information: I(w;Y|X), of the whole training set, not per example;
    examples: n, i.i.d.; sigma: the loss of every fixed w is σ-sub-Gaussian under the data. A loss in an
    interval of length b has σ = b/2, so 1/2 is right for the rate of errors; cross-entropy has no bound.
    In expectation over data and trainings. Vacuous where it exceeds the range of the loss, for the rate of
    errors from 2 nats (2.9 bits) per example on; then it is returned all the same. Memorised noise alone, at
    H(y|x) per label, keeps it above √(2σ² H(y|x)) however many examples there are.
    """
    inputs, labels, n, deviation = broadcast(
        input_information=numbers("input_information", input_information),
        label_information=numbers("label_information", label_information),
        examples=whole_numbers("examples", examples, at_least=1),
        sigma=numbers("sigma", sigma),
    )
    return plain(deviation * np.sqrt(2 * to_nats(inputs + labels, unit) / n))

"""The paper's theory as functions of numbers and NumPy arrays.

Amounts of information are in bits unless you pass `unit="nats"`. Arguments broadcast against each other;
numbers give a number, arrays an array. Information per example is I(w;Y|X)/n, in total it is I(w;Y|X).
"""

from noiselimit.information.bounds import (
    TrainingCapacity,
    generalisation_gap,
    gradient_capacity,
    least_error,
    least_information,
    training_capacity,
)
from noiselimit.information.entropy import (
    Decomposition,
    Unit,
    binary_entropy,
    decompose_cross_entropy,
    entropy,
    entropy_given_another_label,
    entropy_of_posteriors,
    entropy_of_repeated_labels,
    entropy_of_transition,
    from_nats,
    to_nats,
    uniform_noise_entropy,
)

__all__ = [
    "Decomposition",
    "TrainingCapacity",
    "Unit",
    "binary_entropy",
    "decompose_cross_entropy",
    "entropy",
    "entropy_given_another_label",
    "entropy_of_posteriors",
    "entropy_of_repeated_labels",
    "entropy_of_transition",
    "from_nats",
    "generalisation_gap",
    "gradient_capacity",
    "least_error",
    "least_information",
    "to_nats",
    "training_capacity",
    "uniform_noise_entropy",
]

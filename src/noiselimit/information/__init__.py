"""The paper's theory as functions of numbers and NumPy arrays, for anyone's own training.

Amounts of information are in bits unless `unit="nats"` is said. Arguments broadcast against each other;
numbers give a number, arrays an array. `information` per example is I(w;Y|X)/n, in total I(w;Y|X).
"""

from noiselimit.information.capacity import TrainingCapacity, gradient_capacity, training_capacity
from noiselimit.information.decomposition import Decomposition, decompose_cross_entropy
from noiselimit.information.entropy import binary_entropy, entropy
from noiselimit.information.fano import least_error, least_information
from noiselimit.information.generalisation import generalisation_gap
from noiselimit.information.noise_entropy import (
    entropy_of_posteriors,
    entropy_of_transition,
    uniform_noise_entropy,
)
from noiselimit.information.repeated_labels import (
    entropy_given_another_label,
    entropy_of_repeated_labels,
)
from noiselimit.information.units import Unit, from_nats, to_nats

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

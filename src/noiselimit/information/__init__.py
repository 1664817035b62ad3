"""The paper's theory as functions of numbers and NumPy arrays.

Amounts of information are in bits unless you pass `unit="nats"`. Arguments broadcast against each other;
numbers give a number, arrays an array. Information per example is I(w;Y|X)/n, in total it is I(w;Y|X).
"""

from noiselimit.information.bounds import TrainingCapacity as TrainingCapacity
from noiselimit.information.bounds import generalisation_gap as generalisation_gap
from noiselimit.information.bounds import gradient_capacity as gradient_capacity
from noiselimit.information.bounds import least_error as least_error
from noiselimit.information.bounds import least_information as least_information
from noiselimit.information.bounds import training_capacity as training_capacity
from noiselimit.information.entropy import Decomposition as Decomposition
from noiselimit.information.entropy import Unit as Unit
from noiselimit.information.entropy import binary_entropy as binary_entropy
from noiselimit.information.entropy import decompose_cross_entropy as decompose_cross_entropy
from noiselimit.information.entropy import entropy as entropy
from noiselimit.information.entropy import entropy_given_another_label as entropy_given_another_label
from noiselimit.information.entropy import entropy_of_posteriors as entropy_of_posteriors
from noiselimit.information.entropy import entropy_of_repeated_labels as entropy_of_repeated_labels
from noiselimit.information.entropy import entropy_of_transition as entropy_of_transition
from noiselimit.information.entropy import from_nats as from_nats
from noiselimit.information.entropy import to_nats as to_nats
from noiselimit.information.entropy import uniform_noise_entropy as uniform_noise_entropy

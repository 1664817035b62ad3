"""Symmetric noise: a label is drawn again from all classes, so it may stay right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from noiselimit.noise.base import ClassNoise, Matrix, ProbabilityNoise


@dataclass(frozen=True)
class SymmetricNoise(ProbabilityNoise, ClassNoise):
    """With this probability a label is replaced by any of the k classes, its own included.

    A share of P (k − 1)/k of the labels becomes wrong; with `UniformNoise` it is P.
    """

    kind: ClassVar[str] = "symmetric"

    def transition(self, class_names: Sequence[str]) -> Matrix:
        classes = len(class_names)
        share = self.probability / classes
        return np.full((classes, classes), share) + (1 - self.probability) * np.eye(classes)

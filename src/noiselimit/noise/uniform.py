"""Uniform noise: a wrong label is any of the other classes, each equally likely."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from noiselimit.noise.base import ClassNoise, Matrix, ProbabilityNoise


@dataclass(frozen=True)
class UniformNoise(ProbabilityNoise, ClassNoise):
    """With this probability a label becomes one of the k − 1 other classes."""

    kind: ClassVar[str] = "uniform"

    def transition(self, class_names: Sequence[str]) -> Matrix:
        classes = len(class_names)
        matrix = np.full((classes, classes), self.probability / (classes - 1))
        np.fill_diagonal(matrix, 1 - self.probability)
        return matrix

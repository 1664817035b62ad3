"""Uniform noise: a wrong label is equally likely to be any of the other classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from noiselimit.noise.base import ClassNoise, Matrix
from noiselimit.noise.probability import check_probability, read_probability


@final
@dataclass(frozen=True)
class UniformNoise(ClassNoise):
    """With this probability a label becomes one of the k − 1 others."""

    kind: ClassVar[str] = "uniform"
    probability: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "probability", check_probability(self.kind, self.probability))

    @classmethod
    def from_text(cls, text: str) -> Self:
        return cls(read_probability(cls.kind, text))

    @classmethod
    def from_parameter(cls, parameter: object) -> Self:
        return cls(parameter)  # type: ignore[arg-type]  # checked on creation

    @property
    def parameter(self) -> float:
        return self.probability

    def transition(self, class_names: Sequence[str]) -> Matrix:
        classes = len(class_names)
        matrix = np.full((classes, classes), self.probability / (classes - 1))
        np.fill_diagonal(matrix, 1 - self.probability)
        return matrix

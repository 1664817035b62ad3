"""Uniform noise: a wrong label is equally likely to be any of the other classes."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Self, final

import numpy as np

from noiselimit.data.examples import Examples
from noiselimit.data.labels import Labels
from noiselimit.errors import InputError
from noiselimit.noise.base import Matrix, Noise, draw_from_transition


@final
@dataclass(frozen=True)
class UniformNoise(Noise):
    """With this probability a label becomes one of the k − 1 others."""

    kind: ClassVar[str] = "uniform"
    probability: float

    def __post_init__(self) -> None:
        if not isinstance(self.probability, Real) or not 0 <= self.probability <= 1:
            raise InputError(
                f"uniform noise of {self.probability} is not possible; "
                "give a probability from 0 to 1, such as uniform:0.4."
            )
        # One spelling for equal noises, because a run's hash covers it: 1 becomes 1.0 and -0.0 becomes 0.0.
        object.__setattr__(self, "probability", float(self.probability) + 0.0)

    @classmethod
    def from_text(cls, text: str) -> Self:
        try:
            probability = float(text)
        except ValueError:
            raise InputError(
                f"noise 'uniform:{text}' has no number after the colon; write uniform:0.4."
            ) from None
        return cls(probability)

    @classmethod
    def from_parameter(cls, parameter: object) -> Self:
        return cls(parameter)  # type: ignore[arg-type]  # checked on creation

    @property
    def parameter(self) -> float:
        return self.probability

    def transition(self, classes: int) -> Matrix:
        matrix = np.full((classes, classes), self.probability / (classes - 1))
        np.fill_diagonal(matrix, 1 - self.probability)
        return matrix

    def draw(self, examples: Examples, seed: int) -> Labels:
        return draw_from_transition(examples.labels, self.transition(examples.classes), seed)

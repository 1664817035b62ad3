"""Symmetric noise: a label is drawn anew from all classes, so that it may turn out right again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from noiselimit.noise.base import ClassNoise, Matrix
from noiselimit.noise.probability import check_probability, read_probability


@final
@dataclass(frozen=True)
class SymmetricNoise(ClassNoise):
    """With this probability a label is replaced by one of all k classes, its own among them.

    Only a share of P (k − 1)/k of the labels becomes wrong; `UniformNoise` makes a share of P wrong.
    """

    kind: ClassVar[str] = "symmetric"
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
        share = self.probability / classes
        return np.full((classes, classes), share) + (1 - self.probability) * np.eye(classes)

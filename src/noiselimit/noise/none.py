"""No noise: the labels stay as they are."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self, final

import numpy as np

from noiselimit.data.examples import Examples
from noiselimit.data.labels import Labels
from noiselimit.errors import InputError
from noiselimit.noise.base import Matrix, Noise


@final
@dataclass(frozen=True)
class NoNoise(Noise):
    """Keep every label."""

    kind: ClassVar[str] = "none"

    @classmethod
    def from_text(cls, text: str) -> Self:
        return cls.from_parameter(text or None)

    @classmethod
    def from_parameter(cls, parameter: object) -> Self:
        if parameter is not None:
            raise InputError(f"noise 'none' takes no value but got '{parameter}'; write none or uniform:P.")
        return cls()

    @property
    def parameter(self) -> None:
        return None

    def transition(self, classes: int) -> Matrix:
        return np.eye(classes)

    def draw(self, examples: Examples, seed: int) -> Labels:
        return examples.labels.copy()

    def apply(self, examples: Examples, seed: int) -> Examples:
        """The labels as they came; clean ones stay unknown, since nobody has said that these are clean."""
        return replace(examples, labels=self.draw(examples, seed))

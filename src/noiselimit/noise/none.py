"""No noise: the labels stay as they are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from noiselimit.data.examples import Examples
from noiselimit.errors import InputError
from noiselimit.noise.base import ClassNoise, Matrix


@dataclass(frozen=True)
class NoNoise(ClassNoise):
    """Keep every label."""

    kind: ClassVar[str] = "none"

    @classmethod
    def from_parameter(cls, parameter: object) -> Self:
        if parameter is not None:
            raise InputError(f"noise 'none:{parameter}' is not possible: write none or uniform:P.")
        return cls()

    @property
    def parameter(self) -> None:
        return None

    def transition(self, class_names: Sequence[str]) -> Matrix:
        return np.eye(len(class_names))

    def apply(self, examples: Examples, seed: int) -> Examples:
        """Return the examples as they are; unknown clean labels stay unknown."""
        return replace(examples, labels=examples.labels.copy())

"""Noises that are made of one probability."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from noiselimit.data.arrays import Labels
from noiselimit.data.examples import Examples, require_labels
from noiselimit.errors import InputError
from noiselimit.randomness import Stream, uniforms

Matrix = npt.NDArray[np.float64]
Parameter = float | str | list[list[float]] | dict[str, Any] | None  # as JSON can hold it


class Noise(ABC):
    """A way to replace labels by wrong ones. Subclasses are frozen dataclasses and final."""

    kind: ClassVar[str]  # its name on the command line and in a run's spec

    @classmethod
    @abstractmethod
    def from_text(cls, text: str) -> Self:
        """From what follows the colon on the command line, such as 0.8; empty where nothing does."""

    @classmethod
    @abstractmethod
    def from_parameter(cls, parameter: object) -> Self:
        """From a value read from JSON, which may be anything; the inverse of `parameter`. Opens no file."""

    @property
    @abstractmethod
    def parameter(self) -> Parameter:
        """What tells this noise from others of its kind."""

    @abstractmethod
    def draw(self, examples: Examples, seed: int) -> Labels:
        """New labels [n]; that of example i depends on the data, the seed and i alone."""

    @abstractmethod
    def transition(self, class_names: Sequence[str]) -> Matrix:
        """[k, k]: row i holds the probabilities of the labels that an example of label i may get.

        An error for noise that looks at more than the label: it has no such matrix.
        """

    @abstractmethod
    def posteriors(self, examples: Examples, seed: int) -> Matrix | None:
        """[n, k]: the probability of each label for each example; None where nobody knows it."""

    def apply(self, examples: Examples, seed: int) -> Examples:
        """The same examples with noisy labels; the labels before the first noise count as the clean ones."""
        require_labels(examples, f"noise {self.kind}")
        clean = examples.labels if examples.clean_labels is None else examples.clean_labels
        return replace(examples, labels=self.draw(examples, seed), clean_labels=clean)


class ClassNoise(Noise):
    """Noise that looks at an example's label only, so that a transition matrix says it all."""

    def draw(self, examples: Examples, seed: int) -> Labels:
        """New labels [n]; that of example i depends on the seed, on i and on its old label alone."""
        return draw_from_transition(examples.labels, self.transition(examples.class_names), seed)

    def posteriors(self, examples: Examples, seed: int) -> Matrix:
        """[n, k]: of each example the row of the transition matrix that its label names."""
        return self.transition(examples.class_names)[examples.labels]


def no_transition(kind: str, reason: str) -> InputError:
    """The error of a noise that no transition matrix describes."""
    return InputError(
        f"noise '{kind}' has no transition matrix, because {reason}; "
        "choose another, such as uniform:0.4 or matrix:FILE."
    )


def draw_from_transition(labels: Labels, transition: Matrix, seed: int) -> Labels:
    """Draw each new label [n] from the row of the transition matrix [k, k] that its old label names."""
    cumulative = np.cumsum(transition, axis=1)
    cumulative /= cumulative[:, -1:]  # exactly 1 at the end: rounding must not lead past the last label
    position = uniforms(seed, Stream.NOISE, 0, len(labels))
    drawn = np.empty_like(labels)
    for label, row in enumerate(cumulative):
        here = labels == label
        drawn[here] = np.searchsorted(row, position[here], side="right")
    return drawn


@dataclass(frozen=True)
class ProbabilityNoise(Noise):
    """What such noises share; how the probability acts is theirs to say."""

    probability: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "probability", check_probability(self.kind, self.probability))

    @classmethod
    def from_text(cls, text: str) -> Self:
        try:
            probability = float(text)
        except ValueError:
            raise InputError(
                f"noise '{cls.kind}:{text}' has no number after the colon; write {_example(cls.kind)}."
            ) from None
        return cls(probability)

    @classmethod
    def from_parameter(cls, parameter: object) -> Self:
        return cls(parameter)  # type: ignore[arg-type]  # checked on creation

    @property
    def parameter(self) -> float:
        return self.probability


def check_probability(kind: str, value: object) -> float:
    """The value as a probability, in one spelling for equal noises, because a run's hash covers it."""
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:  # false for NaN too
        raise InputError(
            f"{kind} noise of {value} is not possible; "
            f"give a probability from 0 to 1, such as {_example(kind)}."
        )
    return float(value) + 0.0  # 1 becomes 1.0 and -0.0 becomes 0.0


def _example(kind: str) -> str:
    return f"{kind}:0.4"

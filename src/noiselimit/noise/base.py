"""What every noise can do, and the one place where labels are drawn from a transition matrix."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from noiselimit.data.examples import Examples
from noiselimit.data.labels import Labels
from noiselimit.randomness import Stream, uniforms

Matrix = npt.NDArray[np.float64]
Parameter = float | list[list[float]] | None  # what a noise is made of, as JSON can hold it


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
        """From a value read from JSON, which may be anything; the inverse of `parameter`."""

    @property
    @abstractmethod
    def parameter(self) -> Parameter:
        """What tells this noise from others of its kind."""

    @abstractmethod
    def transition(self, classes: int) -> Matrix:
        """[k, k]: row i holds the probabilities of the labels that an example of label i may get."""

    @abstractmethod
    def draw(self, examples: Examples, seed: int) -> Labels:
        """New labels [n]; that of example i depends on the seed, on i and on example i alone."""

    def apply(self, examples: Examples, seed: int) -> Examples:
        """The same examples with noisy labels; the labels before the first noise count as the clean ones."""
        clean = examples.labels if examples.clean_labels is None else examples.clean_labels
        return replace(examples, labels=self.draw(examples, seed), clean_labels=clean)


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

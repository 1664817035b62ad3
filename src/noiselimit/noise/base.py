"""What every noise can do; noise with a transition matrix; none, uniform and symmetric noise."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from noiselimit.data.arrays import Labels
from noiselimit.data.examples import Examples, require_labels
from noiselimit.data.npz import read_npy
from noiselimit.data.reading import readable
from noiselimit.errors import InputError
from noiselimit.files import open_regular, read_bytes
from noiselimit.randomness import Stream, uniforms

Matrix = npt.NDArray[np.float64]
Parser = Callable[[str], Any]
Parameter = float | str | list[list[float]] | dict[str, Any] | None  # what JSON can hold


class Noise(ABC):
    """A way to replace labels with wrong ones. Subclasses are frozen dataclasses."""

    kind: ClassVar[str]
    """Its name on the command line and in a run's spec."""
    task: ClassVar[str] = "classification"
    """The task whose labels it changes."""

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Create it from what follows the colon on the command line: by default a number or nothing."""
        return cls.from_parameter(parse_number(cls.kind, text))

    @classmethod
    def from_parameter(cls, parameter: object) -> Self:
        """Invert `parameter`; the value comes from JSON and may be anything. Opens no file."""
        return cls(parameter)  # type: ignore[call-arg]  # which checks it

    @property
    @abstractmethod
    def parameter(self) -> Parameter:
        """What distinguishes this noise from others of its kind."""

    @abstractmethod
    def draw(self, examples: Examples, seed: int) -> Labels:
        """Draw new labels [n]. The label of example i depends on the data, the seed and i only."""

    def transition(self, class_names: Sequence[str]) -> Matrix:
        """Return [k, k]: row i has the probabilities of the new labels of an example with label i."""
        raise InputError(
            f"noise '{self.kind}' has no transition matrix: choose one that depends on the label alone, such "
            "as uniform:0.4 or matrix:FILE."
        )

    def posteriors(self, examples: Examples, seed: int) -> Matrix | None:
        """Return [n, k], the probability of each label for each example, or None if it is unknown."""
        return None

    def apply(self, examples: Examples, seed: int) -> Examples:
        """Return the examples with noisy labels; the labels before the first noise become the clean ones."""
        require_labels(examples, f"noise {self.kind}")
        if examples.task.name != self.task:
            raise InputError(
                f"noise '{self.kind}' is for {self.task}, and these labels are for {examples.task.name}: "
                "choose another; see `noiselimit docs noise`."
            )
        clean = examples.labels if examples.clean_labels is None else examples.clean_labels
        drawn = np.asarray(self.draw(examples, seed))
        whole = drawn.shape == examples.labels.shape and np.issubdtype(drawn.dtype, np.integer)
        fits = whole and bool(((drawn >= 0) & (drawn < examples.classes)).all())
        if examples.task.has_classes and not fits:
            raise InputError(
                f"noise '{self.kind}' draws {drawn.dtype} {list(drawn.shape)}: draw one class, "
                f"0 … {examples.classes - 1}, for each of {len(examples)} examples."
            )
        return replace(examples, labels=drawn, clean_labels=clean)


class ClassNoise(Noise):
    """Noise that depends on the label alone and is fully described by its transition matrix."""

    def draw(self, examples: Examples, seed: int) -> Labels:
        return draw_from_transition(examples.labels, self.transition(examples.class_names), seed)

    def posteriors(self, examples: Examples, seed: int) -> Matrix:
        return self.transition(examples.class_names)[examples.labels]


def draw_from_transition(labels: Labels, transition: Matrix, seed: int) -> Labels:
    """Draw new labels [n], each from the row of the transition matrix [k, k] of the old label."""
    cumulative = np.cumsum(transition, axis=1)
    cumulative /= cumulative[:, -1:]  # exactly 1 at the end, or rounding could lead past the last label
    position = uniforms(seed, Stream.NOISE, 0, len(labels))
    drawn = np.empty_like(labels)
    for label, row in enumerate(cumulative):
        here = labels == label
        drawn[here] = np.searchsorted(row, position[here], side="right")
    return drawn


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


@dataclass(frozen=True)
class ProbabilityNoise(Noise):
    """Noise with one parameter, a probability."""

    probability: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "probability", check_probability(self.kind, self.probability))

    @property
    def parameter(self) -> float:
        return self.probability


@dataclass(frozen=True)
class UniformNoise(ProbabilityNoise, ClassNoise):
    """With this probability a label becomes one of the k − 1 other classes, each equally likely."""

    kind: ClassVar[str] = "uniform"

    def transition(self, class_names: Sequence[str]) -> Matrix:
        classes = len(class_names)
        matrix = np.full((classes, classes), self.probability / (classes - 1))
        np.fill_diagonal(matrix, 1 - self.probability)
        return matrix


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


def parse_number(kind: str, text: str) -> float | None:
    """Return the number after a noise's colon, or None if there is nothing."""
    try:
        return float(text) if text else None
    except ValueError:
        raise InputError(f"noise '{kind}:{text}' has no number after the colon: write {kind}:0.4.") from None


def check_probability(what: str, value: object) -> float:
    """Return the probability as a float; a run's hash covers it, so equal values must look equal."""
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:  # false for NaN too
        raise InputError(f"{what} noise has the probability {value}: give a number from 0 to 1, such as 0.4.")
    return float(value) + 0.0  # 1 becomes 1.0 and -0.0 becomes 0.0


def read_file(path: Path, what: str, parsers: Mapping[str, Parser]) -> Any:
    """Read a .npy file, or a text file with the parser for its suffix; `what` names the content."""
    suffix = path.suffix.lower()
    if suffix not in (".npy", *parsers):
        raise InputError(f"{path}: {what} must be in a file that ends in {', '.join(['.npy', *parsers])}.")
    with readable(path, f"name a file with {what}"):
        if suffix == ".npy":
            with open_regular(path) as file:
                return read_npy(file)
        return parsers[suffix](read_bytes(path).decode("utf-8-sig"))

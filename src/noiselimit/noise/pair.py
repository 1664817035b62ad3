"""Pair noise: labels of one class become another class that is easily taken for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast, final

import numpy as np

from noiselimit.errors import InputError
from noiselimit.noise.base import ClassNoise, Matrix
from noiselimit.noise.pairs import Pairs, as_number, check_pairs, find_classes, parse_pairs
from noiselimit.noise.probability import check_probability

CIFAR10_PAIRS = ("bird>airplane", "cat>dog", "deer>horse", "truck>automobile")
ROUNDING = 1e-9  # by which the probabilities of several targets may exceed 1


@final
@dataclass(frozen=True)
class PairNoise(ClassNoise):
    """A label of class a becomes b with the probability given for 'a>b', by the classes' names.

    Which of several '>' stands between the names is decided when the data's class names are known.
    """

    kind: ClassVar[str] = "pair"
    pairs: Mapping[str, float] | Sequence[tuple[str, float]]  # kept as `Pairs`, so that equal ones are equal

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", check_pairs(self.pairs))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """From a probability for CIFAR-10's four pairs, or from 'a>b:0.4;c>d:0.2'."""
        probability = as_number(text)
        return cls(parse_pairs(text)) if probability is None else cls.from_parameter(probability)

    @classmethod
    def from_parameter(cls, parameter: object) -> Self:
        if isinstance(parameter, Mapping):
            return cls(parameter)
        return cls(dict.fromkeys(CIFAR10_PAIRS, check_probability(cls.kind, parameter)))

    @property
    def parameter(self) -> float | dict[str, Any]:
        """The one probability of CIFAR-10's four pairs, else every pair with its own."""
        pairs = dict(self._checked)
        shared = set(pairs.values())
        return shared.pop() if tuple(pairs) == CIFAR10_PAIRS and len(shared) == 1 else pairs

    def transition(self, class_names: Sequence[str]) -> Matrix:
        if isinstance(self.parameter, float):
            _require_cifar10(class_names)
        matrix = np.zeros((len(class_names), len(class_names)))
        for text, probability in self._checked:
            matrix[find_classes(text, class_names)] += probability
        leaving = matrix.sum(axis=1)
        if leaving.max() > 1 + ROUNDING:
            source = int(leaving.argmax())
            raise InputError(
                f"pair noise changes '{class_names[source]}' with probability {leaving[source]:g} in all; "
                "lower its probabilities until they sum to 1 at most."
            )
        np.fill_diagonal(matrix, np.maximum(1 - leaving, 0))
        return matrix

    @property
    def _checked(self) -> Pairs:
        return cast(Pairs, self.pairs)


def _require_cifar10(class_names: Sequence[str]) -> None:
    needed = [name for pair in CIFAR10_PAIRS for name in pair.split(">")]
    missing = next((name for name in needed if name not in class_names), None)
    if missing is not None:
        raise InputError(
            f"pair:P without names is for CIFAR-10's classes, but the data have no class '{missing}'; "
            f"name classes of yours, as in 'pair:{class_names[0]}>{class_names[1]}:0.4'."
        )

"""Pair noise: labels of one class become a class that is easily confused with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np

from noiselimit.errors import InputError, unknown
from noiselimit.noise.base import ClassNoise, Matrix, check_probability

CIFAR10_PAIRS = ("bird>airplane", "cat>dog", "deer>horse", "truck>automobile")
ROUNDING = 1e-9  # by which the probabilities of several targets may exceed 1


@final
@dataclass(frozen=True)
class PairNoise(ClassNoise):
    """A label of class a becomes b with the probability given for 'a>b'.

    Parameters
    ----------
    pairs : mapping of str to float
        Such as {'cat>dog': 0.4}. Stored sorted, as a tuple of pairs, so that equal noises are equal.
    """

    kind: ClassVar[str] = "pair"
    pairs: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", _check_pairs(self.pairs))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse a probability for CIFAR-10's four pairs, or pairs such as 'a>b:0.4;c>d:0.2'."""
        probability = _as_number(text)
        if probability is not None:
            return cls.from_parameter(probability)
        pairs = []
        for part in text.split(";"):
            names, _, number = part.rpartition(":")
            if (probability := _as_number(number)) is not None:
                pairs.append((names, probability))
            elif part.strip():
                raise InputError(
                    f"pair noise '{part.strip()}' does not end in a colon and a probability: write "
                    "'pair:cat>dog:0.4;bird>airplane:0.2', or pair:0.4 for CIFAR-10's pairs."
                )
        return cls(pairs)

    @classmethod
    def from_parameter(cls, parameter: object) -> Self:
        if isinstance(parameter, Mapping):
            return cls(parameter)
        return cls(dict.fromkeys(CIFAR10_PAIRS, check_probability(cls.kind, parameter)))

    @property
    def parameter(self) -> float | dict[str, Any]:
        """The one probability of CIFAR-10's four pairs, or every pair with its own."""
        pairs = dict(self.pairs)
        shared = set(pairs.values())
        return shared.pop() if tuple(pairs) == CIFAR10_PAIRS and len(shared) == 1 else pairs

    def transition(self, class_names: Sequence[str]) -> Matrix:
        if isinstance(self.parameter, float) and not set(">".join(CIFAR10_PAIRS).split(">")) <= set(
            class_names
        ):
            raise InputError(
                "pair:P without names is for CIFAR-10's classes, which these data do not have: name your "
                f"classes, as in 'pair:{class_names[0]}>{class_names[1]}:0.4'."
            )
        matrix = np.zeros((len(class_names), len(class_names)))
        for text, probability in self.pairs:
            matrix[_find_classes(text, class_names)] += probability
        leaving = matrix.sum(axis=1)
        if leaving.max() > 1 + ROUNDING:
            source = int(leaving.argmax())
            raise InputError(
                f"pair noise changes '{class_names[source]}' with probability {leaving[source]:g} in all: "
                "lower its probabilities until they sum to 1 at most."
            )
        np.fill_diagonal(matrix, np.maximum(1 - leaving, 0))
        return matrix


def _check_pairs(values: Any) -> tuple[tuple[str, float], ...]:
    try:
        items = [(text, p) for text, p in (values.items() if isinstance(values, Mapping) else values)]
    except (TypeError, ValueError):
        items = []
    if not items:
        raise InputError("pair noise needs pairs: give some, such as {'cat>dog': 0.4} or pair:cat>dog:0.4.")
    checked: dict[str, float] = {}
    for text, probability in items:
        splits = _splits(text) if isinstance(text, str) else []
        if not splits:
            raise InputError(f"pair noise '{text}' does not name two classes: write them as in 'cat>dog'.")
        # One spelling where the text is unambiguous, because a run's hash covers it.
        pair = ">".join(splits[0]) if len(splits) == 1 else text.strip()
        if pair in checked:
            raise InputError(f"pair noise has '{pair}' twice: give it one probability.")
        checked[pair] = check_probability(f"pair:{pair}", probability)
    return tuple(sorted(checked.items()))


def _find_classes(text: str, class_names: Sequence[str]) -> tuple[int, int]:
    """Return the numbers of the classes in 'a>b'. Names may contain '>', as '>50K' does."""
    number = {name: position for position, name in enumerate(class_names)}
    splits = _splits(text)
    known = [names for names in splits if names[0] in number and names[1] in number]
    if len(known) > 1:
        raise InputError(f"pair noise '{text}' is ambiguous: rename a class or give matrix:FILE.")
    if not known:
        likeliest = max(splits, key=lambda names: (names[0] in number) + (names[1] in number))
        wrong = next(name for name in likeliest if name not in number)
        raise unknown("class of pair noise", wrong, [name for name in class_names if name not in likeliest])
    source, target = known[0]
    if source == target:
        raise InputError(f"pair noise '{text}' leads from a class to itself: name another target.")
    return number[source], number[target]


def _splits(text: str) -> list[tuple[str, str]]:
    """Every way to split the text at a '>' that leaves something on both sides."""
    places = [place for place, letter in enumerate(text) if letter == ">"]
    names = [(text[:place].strip(), text[place + 1 :].strip()) for place in places]
    return [(source, target) for source, target in names if source and target]


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

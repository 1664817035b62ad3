"""Pair noise: labels of one class become another class that is easily taken for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self, cast, final

import numpy as np

from noiselimit.errors import InputError, unknown
from noiselimit.noise.base import ClassNoise, Matrix, check_probability

Pairs = tuple[tuple[str, float], ...]  # ('a>b', probability), sorted


def parse_pairs(text: str) -> list[tuple[str, float]]:
    """'a>b:0.4;c>d:0.2' → [('a>b', 0.4), ('c>d', 0.2)].

    What follows a pair's last colon is its probability, and only a semicolon after one ends the pair.
    """
    pairs: list[tuple[str, float]] = []
    unfinished = ""
    for piece in text.split(";"):
        unfinished += piece
        names, _, number = unfinished.rpartition(":")
        probability = as_number(number)
        if names and probability is not None:
            pairs.append((names, probability))
            unfinished = ""
        elif unfinished.strip():
            unfinished += ";"
    rest = unfinished.removesuffix(";").strip()
    if rest or not pairs:
        raise InputError(
            f"pair noise '{rest}' does not end in a colon and a probability; write pair:0.4 for CIFAR-10's "
            "pairs, or classes by name as in 'pair:cat>dog:0.4;bird>airplane:0.2'."
        )
    return pairs


def check_pairs(values: Any) -> Pairs:
    """Pairs from a mapping {'a>b': p} or from (text, p) items, each once and in one spelling."""
    try:
        items = [(text, p) for text, p in (values.items() if isinstance(values, Mapping) else values)]
    except (TypeError, ValueError):
        raise InputError(
            f"pair noise {values!r} is not possible; give a mapping such as {{'cat>dog': 0.4}}."
        ) from None
    if not items:
        raise InputError("pair noise has no pairs; give some, such as {'cat>dog': 0.4}.")
    checked: dict[str, float] = {}
    for text, probability in items:
        if not isinstance(text, str) or not _readings(text):
            raise InputError(f"pair noise '{text}' names no two classes; write them as in 'cat>dog'.")
        if not isinstance(probability, Real) or not 0 <= float(probability) <= 1:  # false for NaN too
            raise InputError(
                f"pair noise '{text}' has the probability {probability}; give a number from 0 to 1."
            )
        if (pair := _one_spelling(text)) in checked:
            raise InputError(f"pair noise has '{pair}' twice; give it one probability.")
        checked[pair] = float(probability) + 0.0  # no negative zero: a run's hash covers the spelling
    return tuple(sorted(checked.items()))


def find_classes(text: str, class_names: Sequence[str]) -> tuple[int, int]:
    """The numbers of the classes in 'a>b', whichever '>' makes both sides names of classes."""
    number = {name: position for position, name in enumerate(class_names)}
    readings = _readings(text)
    possible = [both for both in readings if both[0] in number and both[1] in number]
    if len(possible) > 1:
        ways = " or ".join(f"'{source}' to '{target}'" for source, target in possible)
        raise InputError(f"pair noise '{text}' may mean {ways}; rename a class or give matrix:FILE.")
    if not possible:
        likeliest = max(readings, key=lambda both: (both[0] in number) + (both[1] in number))
        wrong = next(name for name in likeliest if name not in number)
        # A class does not become itself, so the other side's name is no suggestion.
        raise unknown("class of pair noise", wrong, [name for name in class_names if name not in likeliest])
    source, target = possible[0]
    if source == target:
        raise InputError(f"pair noise '{text}' leads from a class to itself; name another target.")
    return number[source], number[target]


def as_number(text: str) -> float | None:
    """The number that the text spells, if it does."""
    try:
        return float(text)
    except ValueError:
        return None


def _readings(text: str) -> list[tuple[str, str]]:
    """Every way to cut the text at a '>' that leaves something on both sides."""
    places = [place for place, letter in enumerate(text) if letter == ">"]
    cuts = [(text[:place].strip(), text[place + 1 :].strip()) for place in places]
    return [(source, target) for source, target in cuts if source and target]


def _one_spelling(text: str) -> str:
    """Without blanks around the '>' where there is one way to read it: a run's hash covers the spelling."""
    readings = _readings(text)
    return ">".join(readings[0]) if len(readings) == 1 else text.strip()


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

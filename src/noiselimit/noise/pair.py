"""Pair noise: labels of one class become a class that is easily confused with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from noiselimit.errors import InputError, unknown
from noiselimit.noise.base import ClassNoise, Matrix, check_probability, parse_number

CIFAR10_PAIRS = ("bird>airplane", "cat>dog", "deer>horse", "truck>automobile")


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
        if not set(":>") & set(text):
            return cls.from_parameter(parse_number(cls.kind, text))
        pairs = []
        for part in filter(str.strip, text.split(";")):
            names, _, number = part.rpartition(":") if ":" in part else (part, "", "")
            pairs.append((names, parse_number(f"{cls.kind}:{names.strip()}", number)))
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
        cifar10 = set(">".join(CIFAR10_PAIRS).split(">"))
        if isinstance(self.parameter, float) and not cifar10 <= set(class_names):
            raise InputError(
                "pair:P is for CIFAR-10: name your classes, "
                f"as in 'pair:{class_names[0]}>{class_names[1]}:0.4'."
            )
        matrix = np.zeros((len(class_names), len(class_names)))
        for text, probability in self.pairs:
            matrix[_find_classes(text, class_names)] += probability
        leaving = matrix.sum(axis=1)
        if leaving.max() > 1 + 1e-9:  # several targets may sum to a little more, by rounding
            source = int(leaving.argmax())
            raise InputError(
                f"pair noise changes '{class_names[source]}' with probability {leaving[source]:g}: "
                "lower it to 1 at most."
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
    splits = sorted(_splits(text), key=lambda names: -sum(name in class_names for name in names))
    source, target = splits[0]
    for name in splits[0]:
        if name not in class_names:
            raise unknown("class of pair noise", name, set(class_names) - {source, target})
    if len(splits) > 1 and set(splits[1]) <= set(class_names):
        raise InputError(f"pair noise '{text}' is ambiguous: rename a class or give matrix:FILE.")
    if source == target:
        raise InputError(f"pair noise '{text}' maps a class to itself: name another target.")
    return class_names.index(source), class_names.index(target)


def _splits(text: str) -> list[tuple[str, str]]:
    """Every way to split the text at a '>' that leaves something on both sides."""
    parts = text.split(">")
    names = [(">".join(parts[:i]).strip(), ">".join(parts[i:]).strip()) for i in range(1, len(parts))]
    return [(source, target) for source, target in names if source and target]

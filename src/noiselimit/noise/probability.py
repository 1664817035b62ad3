"""Noises that are made of one probability."""

from dataclasses import dataclass
from numbers import Real
from typing import Self

from noiselimit.errors import InputError
from noiselimit.noise.base import Noise


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

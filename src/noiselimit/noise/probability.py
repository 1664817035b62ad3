"""The one number that several noises are made of."""

from numbers import Real

from noiselimit.errors import InputError


def check_probability(kind: str, value: object) -> float:
    """The value as a probability, in one spelling for equal noises, because a run's hash covers it."""
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:  # false for NaN too
        raise InputError(
            f"{kind} noise of {value} is not possible; "
            f"give a probability from 0 to 1, such as {_example(kind)}."
        )
    return float(value) + 0.0  # 1 becomes 1.0 and -0.0 becomes 0.0


def read_probability(kind: str, text: str) -> float:
    """The number that was typed after the colon."""
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"noise '{kind}:{text}' has no number after the colon; write {_example(kind)}."
        ) from None


def _example(kind: str) -> str:
    return f"{kind}:0.4"

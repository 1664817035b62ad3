"""What the commands of noiselimit bound share: the noise they are told of, and how they answer."""

import math
import sys
from typing import Any

from noiselimit.errors import InputError


def noise_bits(probability: float | None, noise_entropy: float | None, classes: int) -> float:
    """H(y|x) in bits, from the probability of uniform noise or given as such."""
    from noiselimit.information import uniform_noise_entropy
    from noiselimit.information.checks import numbers

    if (probability is None) == (noise_entropy is None):
        raise InputError("the noise is needed as --noise or as --entropy, and not as both: give one of them.")
    if noise_entropy is not None:
        return float(numbers("noise_entropy", noise_entropy))
    return float(uniform_noise_entropy(probability, classes))


def most_bits(classes: int) -> float:
    """What a label of k classes holds at most."""
    from noiselimit.information.checks import whole_numbers

    return math.log2(whole_numbers("classes", classes, at_least=2))


def answer(name: str, value: float, vacuous: str, facts: dict[str, Any], as_json: bool) -> None:
    """The number alone on stdout; if it says nothing, why so on stderr."""
    import json

    if as_json:
        finite = {key: None if fact == math.inf else fact for key, fact in {name: value, **facts}.items()}
        print(json.dumps({**finite, "vacuous": bool(vacuous)}))
        return
    print(f"{value:.3g}" if value < 100 else f"{value:.0f}")
    if vacuous:
        print(f"vacuous: {vacuous}", file=sys.stderr)

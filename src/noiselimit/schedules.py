"""Learning rate as a function of how far a run has come; it changes from epoch to epoch, not within one."""

import math
from collections.abc import Callable, Mapping


def constant(progress: float) -> float:
    """The same rate throughout."""
    return 1.0


def cosine(progress: float) -> float:
    """Half a cosine from one to zero."""
    return 0.5 * (1.0 + math.cos(math.pi * progress))


SCHEDULES: Mapping[str, Callable[[float], float]] = {"constant": constant, "cosine": cosine}
"""Name → factor on the learning rate, of the progress (epochs finished / epochs planned) in [0, 1)."""

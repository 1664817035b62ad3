"""How far predicted labels agree with given ones, and how far they would by chance."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from noiselimit.audit.amount import wilson

LEAST = 0.05
"""How far from chance to 1 the agreement with labels that did not train must come, however many: with
80 % of ten classes' labels wrong, 0.11 is all that can be reached, with 45 % of two classes' 0.1."""
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Agreement:
    """Of predicted with given labels, among examples that did not train."""

    share: float
    chance: float
    """The share if the same labels were dealt out anew among these examples. Always naming the commonest
    class agrees with as many as chance does, so that rare classes do not make a network look idle or able."""
    examples: int
    settings: int = 1
    """Among so many a share was chosen, by these labels: the best of several is easily better than it is."""

    @property
    def low(self) -> float:
        """What the share is at least; of dice, in at most 2.5 % of the cases it lies above chance."""
        z = NormalDist().inv_cdf(1 - 0.025 / self.settings)
        return wilson(self.share * self.examples, self.examples, z)[0]

    @property
    def beyond_chance(self) -> float:
        """How far from chance to 1 the share comes (Cohen's κ); 0 where chance agrees with all."""
        return (self.share - self.chance) / (1 - self.chance) if self.chance < 1 else 0.0


def agreement(predicted: Labels, given: Labels, classes: int) -> Agreement:
    """From predicted and given labels [m ≥ 1]."""
    said, are = (np.bincount(labels, minlength=classes) / len(given) for labels in (predicted, given))
    return Agreement(float((predicted == given).mean()), float(said @ are), len(given))

"""How far what was learned agrees with labels that were held out, and how far it would by chance."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean

import numpy as np
import numpy.typing as npt

from noiselimit.audit.amount import wilson
from noiselimit.audit.quality import pieces
from noiselimit.audit.said import averaged_of, said_of
from noiselimit.runs.run import Run
from noiselimit.spec import setting

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


def agreement_of(run: Run, labels: Labels, rows: Labels) -> Agreement | None:
    """What a run averaged of these rows against their given labels; None if it failed."""
    averaged = averaged_of(run)
    if averaged is None:
        return None
    classes = averaged.classifier.shape[1]
    predicted = np.empty(len(rows), np.int64)
    for piece in pieces(len(rows), classes):
        predicted[piece] = said_of(averaged, rows[piece]).argmax(1)
    return agreement(predicted, labels[rows], classes)


def steady_agreement(
    runs: Sequence[Run], predicted: Labels, given: Labels, classes: int, settings: int
) -> Agreement | None:
    """Of weights whose epoch these very labels chose, which makes them agree better than they deserve: the
    share is therefore the mean over the second half of the epochs. None where no labels were held out."""
    if not len(given):
        return None
    later = [
        float(record["validation_accuracy"] or 0.0)
        for run in runs
        for record in run.history[len(run.history) // 2 :]
    ]
    return replace(agreement(predicted, given, classes), share=fmean(later), settings=settings)


def mean_agreement(several: Sequence[Agreement], examples: int, settings: int) -> Agreement:
    """Of runs that count together, which held out so many different examples between them."""
    share, chance = fmean(one.share for one in several), fmean(one.chance for one in several)
    return Agreement(share, chance, examples, settings)


def count_settings(runs: Sequence[Run]) -> int:
    """How many settings there are; runs that differ in the seed alone have the same."""
    return len({setting(run.spec).key for run in runs})

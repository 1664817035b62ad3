"""How far what runs learned agrees with labels that were held out."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
import numpy.typing as npt

from noiselimit.audit.chance import Agreement, agreement
from noiselimit.audit.quality import pieces
from noiselimit.audit.said import averaged_of, said_of
from noiselimit.runs.run import Run
from noiselimit.spec import setting

Labels = npt.NDArray[np.int64]


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

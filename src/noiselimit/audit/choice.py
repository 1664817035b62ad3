"""Which runs' probabilities count in the mean: by noisy validation labels alone."""

import math
from collections.abc import Sequence
from statistics import fmean

from noiselimit.errors import InputError
from noiselimit.runs.run import Run
from noiselimit.spec import setting

ERRORS = 1.0
"""Standard errors of a share below the best from which on a setting is worse than it: validation labels are
few. All settings of a seed are asked about the same ones and agree on most of them, so that their difference
is known better than either share; with two, settings counted that had memorised labels."""
TOLERATED = 0.01
"""Worse by up to so much a setting counts even if it is certain to be worse, which among very many validation
examples any difference is: the mean of two networks so near each other is no worse than the better one."""


def count_runs(runs: Sequence[Run], accuracies: Sequence[float | None], validated: int) -> list[bool]:
    """Which runs count, by the accuracy that each one's probabilities have on `validated` given labels.

    Runs that differ in the seed only are one setting and have the mean of their accuracies. Those of a
    setting that is not worse than the best count; None is for a run that failed, which never does. Runs that
    started from a CE run count only where no others do: of few examples they keep what that one memorised.
    """
    settings: dict[str, list[float]] = {}
    keys = [setting(run.spec).key for run in runs]
    for key, accuracy in zip(keys, accuracies, strict=True):
        if accuracy is not None:
            settings.setdefault(key, []).append(accuracy)
    if not settings:
        failure = next((run.metrics["failure"] for run in runs if run.failed), "no epoch was averaged")
        raise InputError(f"training broke down in every run of the audit, because {failure}.")
    means = {key: fmean(values) for key, values in settings.items()}
    best = max(means, key=lambda key: means[key])
    among = validated * len(settings[best])  # every seed has validation examples of its own
    allowed = max(ERRORS * math.sqrt(means[best] * (1 - means[best]) / among), TOLERATED)
    counted = [
        accuracy is not None and means[key] >= means[best] - allowed
        for key, accuracy in zip(keys, accuracies, strict=True)
    ]
    started = [run.spec.parent is not None for run in runs]
    from_scratch = [counts and not late for counts, late in zip(counted, started, strict=True)]
    return from_scratch if any(from_scratch) else counted

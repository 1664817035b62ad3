"""Choosing among runs by noisy validation labels alone; clean labels play no part."""

from collections.abc import Sequence
from statistics import fmean

from noiselimit.runs.run import Run
from noiselimit.spec import RunSpec, setting


def choose(runs: Sequence[Run]) -> list[bool]:
    """Which runs belong to the chosen setting.

    Runs that differ in the seed only are one setting. The setting with the highest mean validation accuracy
    (at each run's best epoch) is chosen; ties go to the lower mean validation loss, then to the one named
    first. A setting with a failed run is not eligible.
    """
    settings: list[tuple[RunSpec, list[Run]]] = []
    for run in runs:
        key = setting(run.spec)
        members = next((members for known, members in settings if known == key), None)
        if members is None:
            settings.append((key, [run]))
        else:
            members.append(run)
    eligible = [(key, members) for key, members in settings if not any(run.failed for run in members)]
    if not eligible:
        return [False] * len(runs)
    best, _ = max(eligible, key=lambda entry: _merit(entry[1]))  # max keeps the first of equals
    return [setting(run.spec) == best for run in runs]


def _merit(members: Sequence[Run]) -> tuple[float, float]:
    accuracy = fmean(run.metrics["validation_accuracy"] for run in members)
    return accuracy, -fmean(run.metrics["validation_loss"] for run in members)

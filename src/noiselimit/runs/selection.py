"""Choosing among runs by noisy validation labels alone; clean labels play no part."""

from collections.abc import Sequence
from statistics import fmean

from noiselimit.runs.run import Run
from noiselimit.runs.spec import problem, setting


def choose(runs: Sequence[Run]) -> list[bool]:
    """Which runs belong to a chosen setting; on every problem (data, noise, sizes) one setting is chosen.

    Runs that differ in the seed only are one setting. The setting with the highest mean validation accuracy
    (at each run's best epoch) is chosen; ties go to the lower mean validation loss, then to the one named
    first. A setting with a failed run is not eligible.
    """
    problems: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        settings = problems.setdefault(problem(run.spec).key, {})
        settings.setdefault(setting(run.spec).key, []).append(run)
    chosen = {id(run) for settings in problems.values() for run in _best(list(settings.values()))}
    return [id(run) in chosen for run in runs]


def _best(settings: Sequence[Sequence[Run]]) -> Sequence[Run]:
    eligible = [members for members in settings if not any(run.failed for run in members)]
    return max(eligible, key=_merit, default=[])  # max keeps the first of equals


def _merit(members: Sequence[Run]) -> tuple[float, float]:
    accuracy = fmean(run.metrics["validation_accuracy"] for run in members)
    return accuracy, -fmean(run.metrics["validation_loss"] for run in members)

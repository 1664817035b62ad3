"""Choosing among runs by validation labels, as given; clean labels play no part."""

from collections.abc import Sequence
from statistics import fmean

from noiselimit.runs.run import Run
from noiselimit.runs.spec import problem, setting


def choose(runs: Sequence[Run]) -> list[bool]:
    """Choose one setting for every problem (data, noise, sizes).

    Runs that differ only in the seed share a setting. The setting with the highest mean validation accuracy
    wins; ties go to the lower mean validation loss, then to the first. A setting with a failed run loses.

    Parameters
    ----------
    runs : sequence of Run

    Returns
    -------
    list of bool
        For each run, whether its setting was chosen.
    """
    problems: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        settings = problems.setdefault(problem(run.spec).key, {})
        settings.setdefault(setting(run.spec).key, []).append(run)
    chosen = {id(run) for settings in problems.values() for run in _best(list(settings.values()))}
    return [id(run) in chosen for run in runs]


def _best(settings: Sequence[Sequence[Run]]) -> Sequence[Run]:
    eligible = [members for members in settings if not any(run.failed for run in members)]
    return max(eligible, key=_rank, default=[])  # max keeps the first of equals


def _rank(members: Sequence[Run]) -> tuple[float, float]:
    accuracy = fmean(run.metrics["validation_accuracy"] for run in members)
    return accuracy, -fmean(run.metrics["validation_loss"] for run in members)

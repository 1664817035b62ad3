"""Check the data before an audit and the runs after it; select the runs that count."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from noiselimit.audit.calibration import mean_of_networks
from noiselimit.audit.noise_rate import MIN_BEYOND_CHANCE, Agreement, agreement
from noiselimit.audit.quality import Labels
from noiselimit.data.examples import DataSet, is_labelled
from noiselimit.errors import InputError
from noiselimit.report.content import percent
from noiselimit.runs.run import Run
from noiselimit.runs.spec import setting

MIN_PER_CLASS = 10
"""Mean number of examples per class below which labels look like identifiers."""
CLASSES_NAMED = 3
CLEARLY_BEYOND_CHANCE = 0.5
"""Agreement (Cohen's κ) from which a warning blames the small number of labels, not the learning."""
STILL_RISING = 0.05
"""Rise of training agreement in the last quarter from which runs are still learning."""
MEMORISING = 0.025
"""The same where held-out agreement does not follow: networks memorise slowly throughout training."""
FOLLOWING = 0.5
"""Share of the rise of training agreement that held-out agreement must follow by."""
STANDARD_ERRORS = 1.0
"""A setting worse than the best by more than this many standard errors of its accuracy does not count. Two
would let in settings that memorised labels."""
TOLERATED = 0.01
"""A setting worse by no more than this counts in any case: averaging such runs does no harm."""


def check_data(data: DataSet, *, many_classes: bool = False) -> DataSet:
    """Add notes about labels that the audit cannot check; reject labels that look like identifiers."""
    examples = data.examples
    labelled = int(is_labelled(examples).sum())
    if not many_classes and examples.classes > 2 and examples.classes * MIN_PER_CLASS > labelled:
        other = "give other labels" if data.table is None else "name another column with --label"
        raise InputError(
            f"{data.name}: there are {examples.classes} classes for {labelled} labels, which looks like an "
            f"identifier; {other}, use --many-classes (many_classes=True) if these are classes, or --task "
            "regression (task='regression') if they are amounts."
        )
    note = _singleton_note(data)
    return data if note is None else replace(data, notes=(*data.notes, note))


def _singleton_note(data: DataSet) -> str | None:
    """A note about classes with one example. They are audited, because such a class may be a typo."""
    labels = data.examples.labels
    if not data.examples.task.has_classes:
        return None
    counts = np.bincount(labels[labels >= 0], minlength=data.examples.classes)
    single = np.flatnonzero(counts == 1)
    if not len(single):
        return None
    named = ", ".join(
        f"'{data.examples.class_names[number]}' in row {int(np.argmax(labels == number))}"
        for number in single[:CLASSES_NAMED]
    )
    which = "1 class has" if len(single) == 1 else f"{len(single)} classes have"
    more = ", …" if len(single) > CLASSES_NAMED else ""
    return f"{data.name}: {which} a single example ({named}{more}), so check its label yourself."


def held_out_agreement(run: Run, labels: Labels, rows: Labels) -> Agreement | None:
    """Agreement of the run's averaged probabilities with the labels of these rows; None if it failed."""
    averages = run.averaged
    if averages is None:
        return None
    probabilities = mean_of_networks(averages, rows)
    return agreement(probabilities.argmax(1), labels[rows], probabilities.shape[1])


def count_settings(runs: Sequence[Run]) -> int:
    """Number of settings; runs that differ only in the seed have the same setting."""
    return len({setting(run.spec).key for run in runs})


def select_runs(runs: Sequence[Run], accuracies: Sequence[float | None], validated: int) -> list[bool]:
    """Select the runs that count: those whose setting is not clearly worse than the best one.

    `accuracies` are those of each run on `validated` held-out labels; None if the run failed. Runs that
    started from a CE run count only if no others do, because they keep what the CE run memorised.
    """
    by_setting: dict[str, list[float]] = {}
    keys = [setting(run.spec).key for run in runs]
    for key, accuracy in zip(keys, accuracies, strict=True):
        if accuracy is not None:
            by_setting.setdefault(key, []).append(accuracy)
    if not by_setting:
        failure = next((run.metrics["failure"] for run in runs if run.failed), "no epoch was averaged")
        raise InputError(f"training failed in every run of the audit: {failure}.")
    means = {key: fmean(values) for key, values in by_setting.items()}
    best = max(means, key=lambda key: means[key])
    examples = validated * len(by_setting[best])  # every seed holds out other examples
    error = math.sqrt(means[best] * (1 - means[best]) / examples)
    lowest = means[best] - max(STANDARD_ERRORS * error, TOLERATED)
    counted = [
        accuracy is not None and means[key] >= lowest for key, accuracy in zip(keys, accuracies, strict=True)
    ]
    from_scratch = [counts and run.spec.parent is None for run, counts in zip(runs, counted, strict=True)]
    return from_scratch if any(from_scratch) else counted


def check_learning(runs: Sequence[Run], agreement: Agreement | None) -> tuple[str | None, str | None]:
    """Check the runs that count, and how the best judge agrees with labels that it did not train on.

    The agreement is None if no labels were held out.

    Returns a warning, why the audit cannot be trusted, and a note, what could be done better; None if all is
    well.
    """
    warning = check_agreement(agreement)
    if warning is not None:
        return warning, None
    best = max(runs, key=lambda run: _last_quarters(run, "validation_accuracy")[1])
    trained, held_out = (_last_quarters(best, f"{part}_accuracy") for part in ("train", "validation"))
    rise = trained[1] - trained[0]
    follows = held_out[1] - held_out[0] >= FOLLOWING * rise
    if follows and rise > STILL_RISING:
        return None, (
            f"The networks were still learning after {len(best.history)} epochs: agreement with the "
            f"training labels was {percent(trained[0])} in the third quarter and {percent(trained[1])} in "
            "the last, so labels that are not learned yet look wrong; increase --epochs."
        )
    if not follows and rise > MEMORISING:
        return None, (
            "The networks memorised labels towards the end: from the third quarter of the epochs to the "
            f"last, agreement with training labels rose from {percent(trained[0])} to {percent(trained[1])}, "
            f"but with held-out labels it went from {percent(held_out[0])} to {percent(held_out[1])}, so "
            "some wrong training labels are missed; try a larger --beta or fewer --epochs."
        )
    return None, None


def check_agreement(agreement: Agreement | None) -> str | None:
    """A warning if the networks learned too little to check labels."""
    if agreement is None:
        return (
            "No labels were held out, so the audit cannot tell whether the networks learned the classes or "
            "memorised the labels: give at least 50 examples and a validation_share such as 0.2."
        )
    if agreement.low > agreement.chance and agreement.beyond_chance >= MIN_BEYOND_CHANCE:
        return None
    few = agreement.beyond_chance >= CLEARLY_BEYOND_CHANCE
    why = "these are too few labels to tell" if few else "they learned next to nothing"
    return (
        f"The models agree with {percent(agreement.share)} of {agreement.examples:,} labels that they did "
        f"not train on; by chance it would be {percent(agreement.chance)}: {why}, so do not trust this "
        "audit; try a lower --learning-rate such as 0.0003, more --epochs, another --network, more examples "
        "or better inputs."
    )


def _last_quarters(run: Run, name: str) -> tuple[float, float]:
    """Means over the third and the last quarter of the epochs; below four epochs, the overall mean twice."""
    curve = [float(record[name] or 0.0) for record in run.history]
    quarter = len(curve) // 4
    if not quarter:
        return fmean(curve), fmean(curve)
    return fmean(curve[-2 * quarter : -quarter]), fmean(curve[-quarter:])

"""Which runs' probabilities count in the mean: by noisy validation labels alone."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
import numpy.typing as npt

from noiselimit.audit.noise_rate import LEAST, Agreement, agreement
from noiselimit.audit.probabilities import load_averages, mean_of_networks
from noiselimit.audit.quality import chunks
from noiselimit.data.examples import DataSet, is_labelled
from noiselimit.errors import InputError
from noiselimit.report.content import percent
from noiselimit.runs.run import Run
from noiselimit.runs.spec import setting

Labels = npt.NDArray[np.int64]


def held_out_agreement(run: Run, labels: Labels, rows: Labels) -> Agreement | None:
    """What a run averaged of these rows against their given labels; None if it failed."""
    averaged = load_averages(run)
    if averaged is None:
        return None
    classes = averaged.classifier.shape[1]
    predicted = np.empty(len(rows), np.int64)
    for piece in chunks(len(rows), classes):
        predicted[piece] = mean_of_networks(averaged, rows[piece]).argmax(1)
    return agreement(predicted, labels[rows], classes)


def second_half_agreement(
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


MUCH = 0.5
"""The same where nobody would say that nothing was learned, however few labels it is known from."""
RISES = 0.05
"""What agreement may rise by in the last quarter of the epochs: probabilities are means over the last two
quarters, and what is not learned yet looks like a wrong label."""
BY_HEART = 0.025
"""The same where labels are memorised: that goes on slowly for as long as networks train."""
OF_THE_SAME = 0.5
"""Of what agreement with labels that train rises by, that with held-out ones must rise by so much: else it is
not the classes that are being learned but these labels."""

UNCHECKED = (
    "No labels were held out, so that nobody knows whether the networks learned the classes or these labels "
    "by heart: give 50 examples or more, and a validation_share such as 0.2."
)


@dataclass(frozen=True)
class Diagnosis:
    """What a person should know of how the networks learned, a sentence each; None where all is well."""

    warning: str | None = None
    """Why nothing can be said of the labels."""
    note: str | None = None
    """What could be done better."""


def check_learning(judging: Sequence[Run], agreement: Agreement | None) -> Diagnosis:
    """Of the runs that fit together, and their agreement with labels held out; None: there are no such."""
    too_little = UNCHECKED if agreement is None else _hardly_more_than_chance(agreement)
    if too_little is not None:
        return Diagnosis(too_little)
    best = max(judging, key=lambda run: _last_quarters(run, "validation_accuracy")[1])
    trained, held_out = (_last_quarters(best, f"{part}_accuracy") for part in ("train", "validation"))
    rise = trained[1] - trained[0]
    if held_out[1] - held_out[0] < OF_THE_SAME * rise:
        return Diagnosis(note=_memorising(trained, held_out) if rise > BY_HEART else None)
    return Diagnosis(note=_still_learning(trained, len(best.history)) if rise > RISES else None)


def _hardly_more_than_chance(agreement: Agreement) -> str | None:
    if agreement.low > agreement.chance and agreement.beyond_chance >= LEAST:
        return None
    few = agreement.beyond_chance >= MUCH
    why = "of so few labels that says too little" if few else "they learned next to nothing"
    return (
        f"The networks agree with {percent(agreement.share)} of the {agreement.examples:,} labels that were "
        f"held out, and would with {percent(agreement.chance)} by chance: {why}, so this audit is not to be "
        "trusted; try a lower --learning-rate such as 0.0003, more --epochs, another --network, more "
        "examples, or inputs that tell more."
    )


def _last_quarters(run: Run, name: str) -> tuple[float, float]:
    """Means over the last quarter but one and the last; of fewer than four epochs, twice that of all."""
    curve = [float(record[name] or 0.0) for record in run.history]
    quarter = len(curve) // 4
    if not quarter:
        return fmean(curve), fmean(curve)
    return fmean(curve[-2 * quarter : -quarter]), fmean(curve[-quarter:])


def _still_learning(trained: tuple[float, float], epochs: int) -> str:
    return (
        f"The networks were still learning when their {epochs} epochs were over: they agreed with "
        f"{percent(trained[0])} of the labels that they trained on in the third quarter and with "
        f"{percent(trained[1])} in the last, so what they have not learned yet looks wrong; give more "
        "--epochs."
    )


def _memorising(trained: tuple[float, float], held_out: tuple[float, float]) -> str:
    return (
        "The networks memorised labels towards the end: from the third quarter of the epochs to the last, "
        f"their agreement with labels that they trained on went from {percent(trained[0])} to "
        f"{percent(trained[1])}, with held-out ones from {percent(held_out[0])} to {percent(held_out[1])}, "
        "so wrong labels among the former are found less well; try a larger --beta or fewer --epochs."
    )


FEWEST_EACH = 10
"""Examples for each class, on average, below which labels are taken for identifiers."""
SHOWN = 3
"""Classes that are named in a note."""


def check_data(data: DataSet, *, many_classes: bool = False) -> DataSet:
    """The data with notes on what cannot be fitted; an error where the labels are hardly classes.

    `many_classes` is for those who know that there are few examples for each class.
    """
    examples = data.examples
    labelled = int(is_labelled(examples).sum())
    if not many_classes and examples.classes > 2 and examples.classes * FEWEST_EACH > labelled:
        other = "give other labels" if data.table is None else "name another column with --label"
        raise InputError(
            f"{data.name}: there are {examples.classes} classes for {labelled} labels, which looks like an "
            f"identifier; {other}, or say --many-classes (many_classes=True) if these are classes."
        )
    notes = [note for note in (singleton_note(data),) if note is not None and note not in data.notes]
    return dataclasses.replace(data, notes=(*data.notes, *notes)) if notes else data


def singleton_note(data: DataSet) -> str | None:
    """A note on the classes of which there is one example: it is fitted, but no other speaks for its label.

    It is not left out, because such a class may well be a slip of the hand, and that should be found.
    """
    labels = data.examples.labels
    counts = np.bincount(labels[labels >= 0], minlength=data.examples.classes)
    alone = np.flatnonzero(counts == 1)
    if not len(alone):
        return None
    shown = ", ".join(
        f"'{data.examples.class_names[number]}' in row {int(np.argmax(labels == number))}"
        for number in alone[:SHOWN]
    )
    which = "1 class has" if len(alone) == 1 else f"{len(alone)} classes have"
    more = ", …" if len(alone) > SHOWN else ""
    return (
        f"{data.name}: {which} a single example ({shown}{more}), for whose label no other can speak; look at "
        "it yourself."
    )


ERRORS = 1.0
"""Standard errors of a share below the best from which on a setting is worse than it: validation labels are
few. All settings of a seed are asked about the same ones and agree on most of them, so that their difference
is known better than either share; with two, settings counted that had memorised labels."""
TOLERATED = 0.01
"""Worse by up to so much a setting counts even if it is certain to be worse, which among very many validation
examples any difference is: the mean of two networks so near each other is no worse than the better one."""


def select_runs(runs: Sequence[Run], accuracies: Sequence[float | None], validated: int) -> list[bool]:
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

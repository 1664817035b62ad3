"""Train the runs of an audit and turn them into probabilities for every example."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from noiselimit.audit.calibration import MeanPredictions, Probabilities, average_runs, drop_averages
from noiselimit.audit.diagnostics import (
    Diagnosis,
    check_data,
    check_learning,
    count_settings,
    held_out_agreement,
    select_runs,
)
from noiselimit.audit.issues import Audit, FlagRule, audit_labels
from noiselimit.audit.noise_rate import Agreement
from noiselimit.audit.plan import DEFAULT, AuditPlan
from noiselimit.audit.quality import Labels
from noiselimit.audit.validation import GivenLabels
from noiselimit.data.examples import DataSet, is_labelled, take_examples
from noiselimit.engine.backend import find_device
from noiselimit.engine.preparation import split_examples
from noiselimit.runs.run import Run, mean_probabilities
from noiselimit.training import Progress, train


@dataclass(frozen=True, eq=False)
class AuditFit:
    """The trained runs of an audit and their probabilities."""

    pred_probs: Probabilities
    """[n, C] of all examples in data order; final weights predict the examples without a label."""
    runs: list[Run]
    """All runs; those in memory have dropped their averaged probabilities."""
    counted: list[bool]
    """Which runs are in the mean."""
    diagnosis: Diagnosis = field(default_factory=Diagnosis)
    """Whether the runs learned enough."""
    known_from: int | None = None
    """See `NoiseRate`; None: all examples."""

    def audit(self, given: GivenLabels, rule: FlagRule | None = None) -> Audit:
        """Audit labels [n] with these probabilities."""
        warning, note = self.diagnosis.warning, self.diagnosis.note
        return audit_labels(given, self.pred_probs, rule, warning, note, known_from=self.known_from)


def audit_data(
    data: DataSet, plan: AuditPlan = DEFAULT, rule: FlagRule | None = None, **options: Any
) -> tuple[Audit, AuditFit]:
    """Fit and audit a data set; `options` are those of `fit`. Labels in the table are class numbers."""
    fitted = fit(data, plan, **options)
    return fitted.audit(GivenLabels(data.examples.labels, None), rule), fitted


def fit(
    data: DataSet,
    plan: AuditPlan = DEFAULT,
    *,
    many_classes: bool = False,
    out: str | Path | None = None,
    device: str = "auto",
    threads: int | None = None,
    kernels: str = "auto",
    graphs: str = "auto",
    checkpoints: str | float = "auto",
    progress: Callable[[Progress], None] | None = None,
) -> AuditFit:
    """Train the plan's runs on the labelled examples and average those that count.

    The test and validation parts of the data are ignored. For the options, see `train` and `check_data`.
    """
    checked = check_data(data, many_classes=many_classes)
    rows = np.flatnonzero(is_labelled(data.examples))
    all_labelled = len(rows) == len(data.examples)
    examples = data.examples if all_labelled else take_examples(data.examples, rows)
    labelled = dataclasses.replace(checked, examples=examples, test=None, validation=None)
    runs = train(
        plan.specs(labelled),
        labelled,
        out=out,
        device=device,
        threads=threads,
        kernels=kernels,
        graphs=graphs,
        averaged=True,
        checkpoints=checkpoints,
        progress=progress,
    )
    chosen, counted, diagnosis, mean = _combine(runs, examples.labels)
    probabilities = mean.probabilities
    if not all_labelled:
        probabilities = _with_unlabelled(probabilities, rows, data, chosen, device)
    return AuditFit(probabilities, [drop_averages(run) for run in runs], counted, diagnosis, mean.known_from)


def _combine(runs: list[Run], labels: Labels) -> tuple[list[Run], list[bool], Diagnosis, MeanPredictions]:
    """Select the runs that count, check how they learned, and average them."""
    held_out = [_validation_rows(run, len(labels)) for run in runs]
    agreed = [held_out_agreement(run, labels, rows) for run, rows in zip(runs, held_out, strict=True)]
    counted = select_runs(runs, [None if one is None else one.share for one in agreed], len(held_out[0]))
    places = [place for place, counts in enumerate(counted) if counts]
    chosen, rows = [runs[place] for place in places], [held_out[place] for place in places]
    agreements = [one for place in places if (one := agreed[place]) is not None]
    agreement = Agreement(
        fmean(one.share for one in agreements),
        fmean(one.chance for one in agreements),
        len(np.unique(np.concatenate(rows))),
        count_settings(runs),
    )
    return chosen, counted, check_learning(chosen, agreement), average_runs(chosen, labels, rows)


def _validation_rows(run: Run, examples: int) -> Labels:
    share = run.spec.validation_share
    return split_examples(examples, run.spec.seed, validation_share=share).validation


def _with_unlabelled(
    probabilities: Probabilities, rows: Labels, data: DataSet, runs: list[Run], device: str
) -> Probabilities:
    """[n, C]: the given probabilities for labelled `rows`, predictions of the final weights for the rest."""
    result = np.empty((len(data.examples), probabilities.shape[1]), np.float32)
    result[rows] = probabilities
    rest = np.flatnonzero(~is_labelled(data.examples))
    inputs = take_examples(data.examples, rest).inputs
    result[rest] = mean_probabilities(runs, inputs, find_device(device))
    return result

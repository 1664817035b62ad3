"""Train the runs of an audit and turn them into probabilities for every example."""

import dataclasses
import gc
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from statistics import fmean
from typing import Any

import numpy as np

from noiselimit.audit.calibration import Probabilities, average_runs, cannot_be_calibrated, drop_averages
from noiselimit.audit.diagnostics import check_learning, count_settings, held_out_agreement, select_runs
from noiselimit.audit.issues import AUTOMATIC, Audit, FlagRule, GivenLabels, audit_labels
from noiselimit.audit.judges import judge
from noiselimit.audit.label_model import LabelModel, fit_label_model
from noiselimit.audit.noise_rate import Agreement, agreement
from noiselimit.audit.plan import DEFAULT, AuditPlan
from noiselimit.audit.quality import Labels, chunks
from noiselimit.audit.regression import ValueFit, fit_values
from noiselimit.data.examples import DataSet, is_labelled, take_examples
from noiselimit.engine.backend import find_device
from noiselimit.engine.preparation import split_examples
from noiselimit.runs.run import Run, mean_probabilities
from noiselimit.training import train


@dataclass(frozen=True, eq=False)
class AuditFit:
    """The trained runs of an audit, and the label model of networks and other judges."""

    model: LabelModel
    judges: tuple[str, ...]
    """Names of the model's judges."""
    known_from: int
    """See `NoiseRate`."""
    runs: list[Run]
    """All runs; those in memory have dropped their averaged probabilities."""
    counted: list[bool]
    """Which runs are in the mean."""
    warning: str | None = None
    """Why the audit cannot be trusted, if so."""
    note: str | None = None
    """What could be done better, if anything."""

    @cached_property
    def pred_probs(self) -> Probabilities:
        """[n, C] of all examples in data order, without regard to the given labels."""
        rows, classes = self.model.shape
        found = np.empty((rows, classes), np.float32)
        for part in chunks(rows, classes):
            found[part] = self.model.true_classes(part)
        return found

    def audit(self, given: GivenLabels, rule: FlagRule = AUTOMATIC) -> Audit:
        """Audit labels [n] with this model."""
        return audit_labels(
            given, self.model, rule, warning=self.warning, note=self.note, known_from=self.known_from
        )


def audit_data(
    data: DataSet, plan: AuditPlan = DEFAULT, rule: FlagRule = AUTOMATIC, **options: Any
) -> tuple[Audit, AuditFit | ValueFit]:
    """Fit and audit a data set; `options` are those of `train`. Labels in the table are class numbers."""
    fitted = fit(data, plan, **options)
    return fitted.audit(GivenLabels(data.examples.labels, None), rule), fitted


def fit(
    data: DataSet, plan: AuditPlan = DEFAULT, *, device: str = "auto", **options: Any
) -> AuditFit | ValueFit:
    """Train the plan's runs on the labelled examples, average those that count, and fit the label model.

    The test and validation parts of the data are ignored. `options` are those of `train`.
    """
    if not data.examples.task.has_classes:
        return fit_values(data, plan, device=device, **options)
    rows = np.flatnonzero(is_labelled(data.examples))
    all_labelled = len(rows) == len(data.examples)
    examples = (
        data.examples if all_labelled else take_examples(dataclasses.replace(data.examples, kept={}), rows)
    )
    labelled = dataclasses.replace(data, examples=examples, test=None, validation=None, pictures=None)
    runs = train(plan.specs(labelled), labelled, device=device, averaged=True, **options)
    gc.collect()  # what trained them is as large as the probabilities, and holds reference cycles
    labels = examples.labels
    held_out = [_validation_rows(run, len(labels)) for run in runs]
    agreed = [held_out_agreement(run, labels, own) for run, own in zip(runs, held_out, strict=True)]
    counted = select_runs(runs, [None if one is None else one.share for one in agreed], len(held_out[0]))
    chosen, held_out = list(compress(runs, counted)), list(compress(held_out, counted))
    networks, known_from = average_runs(chosen, labels, held_out)
    if not all_labelled:
        networks = _with_unlabelled(networks, rows, data, chosen, device)
    others = judge(
        data, plan.seeds[0], threads=options.get("threads"), fast=plan.fast, folder=options.get("out")
    )
    judges = {"networks": networks, **others}
    if others and cannot_be_calibrated(chosen, labels, held_out):
        del judges["networks"]
    model = fit_label_model(list(judges.values()), data.examples.labels)
    found = [_mean_agreement([one for one in compress(agreed, counted) if one], held_out)]
    found += [agreement(_predicted(each)[rows], labels, each.shape[1]) for each in others.values()]
    best = max(found, key=lambda one: one.low - one.chance)
    best = dataclasses.replace(best, settings=count_settings(runs) + len(others))
    warning, note = check_learning(chosen, best if any(map(len, held_out)) else None)
    runs = [drop_averages(run) for run in runs]
    return AuditFit(model, tuple(judges), known_from, runs, counted, warning, note)


def _validation_rows(run: Run, examples: int) -> Labels:
    share = run.spec.validation_share
    return split_examples(examples, run.spec.seed, validation_share=share).validation


def _predicted(judge: Probabilities) -> Labels:
    """[n]: the most probable classes."""
    return np.concatenate([judge[part].argmax(1) for part in chunks(*judge.shape)])


def _mean_agreement(agreed: Sequence[Agreement], held_out: Sequence[Labels]) -> Agreement:
    """The mean over the runs that count."""
    share, chance = fmean(one.share for one in agreed), fmean(one.chance for one in agreed)
    return Agreement(share, chance, len(np.unique(np.concatenate(held_out))))


def _with_unlabelled(
    probabilities: Probabilities, rows: Labels, data: DataSet, runs: list[Run], device: str
) -> Probabilities:
    """[n, C]: the given probabilities for labelled `rows`, predictions of the final weights for the rest."""
    result = np.empty((len(data.examples), probabilities.shape[1]), np.float32)
    result[rows] = probabilities
    rest = np.flatnonzero(~is_labelled(data.examples))
    inputs = take_examples(dataclasses.replace(data.examples, kept={}), rest).inputs
    result[rest] = mean_probabilities(runs, inputs, find_device(device))
    return result

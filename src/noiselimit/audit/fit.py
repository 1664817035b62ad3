"""From data to probabilities by which their labels are fitted, and to the audit itself."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from noiselimit.audit.diagnostics import (
    Diagnosis,
    check_data,
    check_learning,
    count_settings,
    held_out_agreement,
    mean_agreement,
    select_runs,
)
from noiselimit.audit.issues import Audit, FlagRule, audit_labels
from noiselimit.audit.plan import DEFAULT, AuditPlan
from noiselimit.audit.probabilities import Labels, Probabilities, average_runs, drop_averages
from noiselimit.audit.validation import GivenLabels
from noiselimit.data.examples import DataSet, is_labelled, take_examples
from noiselimit.engine.backend import find_device
from noiselimit.engine.preparation import split_examples
from noiselimit.inference import mean_probabilities
from noiselimit.runs.run import Run
from noiselimit.training import Progress, train


@dataclass(frozen=True, eq=False)
class AuditFit:
    """What was trained to fit labels, and what it says."""

    pred_probs: Probabilities
    """[n, C] in data order, of all examples; for those without a label, what the weights predict."""
    runs: list[Run]
    """All that were trained. Those in memory have handed over what they averaged: `averaged` is None."""
    counted: list[bool]
    """Which of them are in the mean; see `noiselimit.audit.choice`."""
    learned: Diagnosis = field(default_factory=Diagnosis)
    """Whether they learned enough to fit."""
    known_from: int | None = None
    """See `noiselimit.audit.noise_rate.NoiseRate`; None: all examples."""
    unscaled: Probabilities | None = None
    """[n, C] as said, before any of it was brought to the scale of examples held out; None: not asked for."""

    def audit(self, given: GivenLabels, rule: FlagRule | None = None) -> Audit:
        """What they say about these labels [n]."""
        learned = self.learned
        return audit_labels(
            given, self.pred_probs, rule, learned.warning, learned.note, known_from=self.known_from
        )


def audit_data(
    data: DataSet, plan: AuditPlan = DEFAULT, rule: FlagRule | None = None, **how: Any
) -> tuple[Audit, AuditFit]:
    """Train and fit every label; `how` is what `fit` takes. Labels are numbers in the table."""
    fitted = fit(data, plan, **how)
    given = GivenLabels(data.examples.labels, None)
    return fitted.audit(given, rule), fitted


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
    unscaled: bool = False,
) -> AuditFit:
    """Train the plan's runs on the labelled examples, and average what those that count say of all examples.

    Only `data.examples` are audited, by their given labels: the data's own test and validation parts are
    left alone. What a run says of an example is the mean of classifier and predictor over the second half of
    the epochs, while they train; what it says of labels that it saw is brought to the scale of labels held
    out where it was memorised; `unscaled` keeps what it was before, of data whose examples all have a label.
    Weights of examples count as in any training. `many_classes` is as for `check_data`, the rest as for
    `train`.
    """
    checked = check_data(data, many_classes=many_classes)
    there = np.flatnonzero(is_labelled(data.examples))
    whole = len(there) == len(data.examples)
    examples = data.examples if whole else take_examples(data.examples, there)
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
    held_out = [_validation(run, len(examples)) for run in runs]
    agreed = [
        held_out_agreement(run, examples.labels, rows) for run, rows in zip(runs, held_out, strict=True)
    ]
    counted = select_runs(runs, [None if one is None else one.share for one in agreed], len(held_out[0]))
    chosen = [run for run, counts in zip(runs, counted, strict=True) if counts]
    rows = [part for part, counts in zip(held_out, counted, strict=True) if counts]
    counting = [one for one, counts in zip(agreed, counted, strict=True) if counts and one is not None]
    different = len(np.unique(np.concatenate(rows)))
    learned = check_learning(chosen, mean_agreement(counting, different, count_settings(runs)))
    said = average_runs(chosen, examples.labels, rows, unscaled=unscaled)
    probabilities = said.probabilities
    if not whole:
        probabilities = _with_unlabelled(probabilities, there, data, chosen, device)
    kept = [drop_averages(run) for run in runs]
    return AuditFit(probabilities, kept, counted, learned, said.known_from, said.unscaled)


def _validation(run: Run, examples: int) -> Labels:
    """Rows that the run validated on."""
    share = run.spec.validation_share
    return split_examples(examples, run.spec.seed, validation_share=share).validation


def _with_unlabelled(
    probabilities: Probabilities, there: Labels, data: DataSet, runs: list[Run], device: str
) -> Probabilities:
    """[n, C] of all examples, from those [m, C] of the labelled ones, which are `there` [m]."""
    everything = np.empty((len(data.examples), probabilities.shape[1]), np.float32)
    everything[there] = probabilities
    rest = np.flatnonzero(~is_labelled(data.examples))
    others = take_examples(data.examples, rest).inputs
    everything[rest] = mean_probabilities(runs, others, find_device(device))
    return everything

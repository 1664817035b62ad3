"""From data to probabilities by which their labels are judged, and to the audit itself."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.audit.choice import count_runs
from noiselimit.audit.given import Given
from noiselimit.audit.issues import Audit, Steering, audit_given
from noiselimit.audit.plan import DEFAULT, AuditPlan
from noiselimit.audit.quality import pieces
from noiselimit.cohort.device import find_device
from noiselimit.data.examples import DataSet
from noiselimit.data.missing_labels import is_labelled, take_examples
from noiselimit.exact import mean_probabilities
from noiselimit.runs.averaged import read_averaged
from noiselimit.runs.run import Averaged, Run
from noiselimit.split import split_examples
from noiselimit.training import Progress, train

Probabilities = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Judged:
    """What was trained to judge labels, and what it says."""

    pred_probs: Probabilities
    """[n, C] in data order, of all examples; for those without a label, what the weights predict."""
    runs: list[Run]
    """All that were trained. Those in memory have handed over what they averaged: `averaged` is None."""
    counted: list[bool]
    """Which of them are in the mean; see `noiselimit.audit.choice`."""


def audit_data(
    data: DataSet, plan: AuditPlan = DEFAULT, steering: Steering | None = None, **how: Any
) -> tuple[Audit, Judged]:
    """Train and judge every label; `how` is what `judge` takes. Labels are numbers in the table."""
    judged = judge(data, plan, **how)
    return audit_given(Given(data.examples.labels, None), judged.pred_probs, steering), judged


def judge(
    data: DataSet,
    plan: AuditPlan = DEFAULT,
    *,
    out: str | Path | None = None,
    device: str = "auto",
    threads: int | None = None,
    kernels: str = "auto",
    graphs: str = "auto",
    progress: Callable[[Progress], None] | None = None,
) -> Judged:
    """Train the plan's runs on the labelled examples, and average what those that count say of all examples.

    Only `data.examples` are audited, with their given labels: the data's own test and validation parts are
    left alone. Each example of a run has the mean of classifier and predictor over the second half of the
    epochs, in which both train: labels that they saw are judged as well as labels that were held out. The
    weights of examples count as in any training. `out` and the rest are as for `train`.
    """
    there = np.flatnonzero(is_labelled(data.examples))
    whole = len(there) == len(data.examples)
    examples = data.examples if whole else take_examples(data.examples, there)
    labelled = dataclasses.replace(data, examples=examples, test=None, validation=None)
    runs = train(
        plan.specs(labelled),
        labelled,
        out=out,
        device=device,
        threads=threads,
        kernels=kernels,
        graphs=graphs,
        averaged=True,
        progress=progress,
    )
    validated = max(1, round(len(examples) * plan.validation_share))
    counted = count_runs(runs, [_accuracy(run, labelled) for run in runs], validated)
    chosen = [run for run, counts in zip(runs, counted, strict=True) if counts]
    probabilities = _mean(chosen, len(examples), examples.classes)
    if not whole:
        everything = np.empty((len(data.examples), examples.classes), np.float32)
        everything[there] = probabilities
        rest = np.flatnonzero(~is_labelled(data.examples))
        others = take_examples(data.examples, rest).inputs
        everything[rest] = mean_probabilities(chosen, others, find_device(device))
        probabilities = everything
    return Judged(probabilities, [_without_averages(run) for run in runs], counted)


def _averaged(run: Run) -> Averaged | None:
    """What the run has, read without the run's keeping it."""
    if run.in_memory is not None:
        return run.in_memory.averaged
    return None if run.path is None or run.failed else read_averaged(run.place)


def _without_averages(run: Run) -> Run:
    """The run with less to hold: of many examples and classes, averages are by far the largest part of it."""
    if run.in_memory is None:
        return run
    return dataclasses.replace(run, in_memory=dataclasses.replace(run.in_memory, averaged=None))


def _said(averaged: Averaged, rows: slice | npt.NDArray[np.int64]) -> Probabilities:
    """[rows, C]: the mean of classifier and predictor, which finds wrong labels better than either."""
    if averaged.predictor is None:
        return averaged.classifier[rows]
    return np.asarray((averaged.classifier[rows] + averaged.predictor[rows]) / 2, np.float32)


def _accuracy(run: Run, data: DataSet) -> float | None:
    """Of the very probabilities that would count, on given labels of validation examples; None if failed."""
    averaged = None if run.failed else _averaged(run)
    if averaged is None:
        return None
    rows = split_examples(
        len(data.examples), run.spec.seed, validation_share=run.spec.validation_share
    ).validation
    right = 0
    for piece in pieces(len(rows), data.examples.classes):
        some = rows[piece]
        right += int((_said(averaged, some).argmax(1) == data.examples.labels[some]).sum())
    return right / len(rows)


def _mean(runs: list[Run], examples: int, classes: int) -> Probabilities:
    """[examples, classes], in pieces: nothing as large is made beside it."""
    mean = np.zeros((examples, classes), np.float32)
    for run in runs:
        averaged = _averaged(run)
        assert averaged is not None
        for piece in pieces(examples, classes):
            mean[piece] += _said(averaged, piece) / len(runs)
    return mean

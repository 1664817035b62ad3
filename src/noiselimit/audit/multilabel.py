"""Audits of multi-label data: for each class a label model of two classes, in it and not in it."""

import dataclasses
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.audit.calibration import mean_of_networks
from noiselimit.audit.issues import Audit, FlagRule, flag
from noiselimit.audit.label_model import fit_label_model
from noiselimit.audit.noise_rate import estimate_noise_rate
from noiselimit.audit.plan import AuditPlan
from noiselimit.audit.quality import Floats, Labels, Quality, measure
from noiselimit.data.arrays import as_array
from noiselimit.data.examples import DataSet, Examples, make_multilabel
from noiselimit.data.fitting import fit_table
from noiselimit.data.memory import encode_gaps
from noiselimit.data.tables import is_table
from noiselimit.errors import InputError
from noiselimit.runs.run import choose
from noiselimit.tasks.multilabel import join_names, read_sets
from noiselimit.training import train


def audit_sets(inputs: Any, labels: Any, rule: FlagRule, plan: AuditPlan, **options: Any) -> Audit:
    """Train LIMIT on the inputs, and audit the labels with the networks; `options` are those of `train`."""
    table = fit_table(inputs, "X") if is_table(inputs) else None
    given = encode_gaps(inputs, "X")[0] if table is None else table.encode(inputs, "X")
    data = DataSet("X", make_multilabel(given, labels, source="X and y"), table=table)
    runs = train(plan.specs(data), data, averaged=True, **options)
    chosen = [run for run in compress(runs, choose(runs)) if run.averaged is not None]
    if not chosen:
        raise InputError(f"training failed: {runs[0].metrics['failure']}.")
    probabilities = np.zeros((len(data.examples), data.examples.classes))
    for run in chosen:
        assert run.averaged is not None
        probabilities += mean_of_networks(run.averaged, slice(None)) / len(chosen)
    return _audit(data.examples, probabilities, rule)


def audit_set_probabilities(labels: Any, pred_probs: Any, rule: FlagRule) -> Audit:
    """Audit labels with probabilities [n, C], one column for each class in sorted order."""
    matrix, names = read_sets(labels, "labels")
    probabilities = as_array(pred_probs, "pred_probs", "probabilities")
    if probabilities.shape != matrix.shape or not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise InputError(
            f"pred_probs have shape {list(probabilities.shape)} or values outside of 0 to 1: give one "
            f"probability for each of {len(matrix)} examples and {len(names)} classes."
        )
    examples = Examples(np.zeros((len(matrix), 1), np.float32), matrix, names)  # type: ignore[arg-type]
    return _audit(examples, probabilities, rule)


def _audit(examples: Examples, probabilities: npt.NDArray[np.floating], rule: FlagRule) -> Audit:
    matrix, names = np.asarray(examples.labels), examples.class_names
    errors = np.stack([_class_errors(matrix[:, c], probabilities[:, c]) for c in range(len(names))], 1)
    wrong = errors > 0.5
    right = (1 - errors).prod(1)
    nothing: Labels = np.zeros(len(matrix), np.int64)
    ones = np.ones((1, 1))
    quality = Quality(
        given=nothing,
        predicted=np.asarray(wrong.any(1), np.int64),
        probability=right,
        gap=np.linalg.norm(matrix - probabilities, axis=1),
        label_quality=right,
        against=nothing.astype(np.int8),
        joint=ones,
        overlap=0 * ones,
    )
    noise_rate = dataclasses.replace(estimate_noise_rate(quality, len(quality)), joint=ones)
    flags = flag(quality, rule)
    table = pd.DataFrame(
        {
            "is_label_issue": flags,
            "error_probability": 1 - right,
            "label_quality": right,
            "given_label": join_names(matrix, names),
            "predicted_label": join_names(matrix ^ wrong, names),
            "missing": join_names(wrong & (matrix == 0), names),
            "extra": join_names(wrong & (matrix == 1), names),
            "rank": pd.Series(right).rank(method="first").astype(np.int64),
            "row": np.arange(len(matrix)),
            **{f"error_{name}": errors[:, number] for number, name in enumerate(names)},
        }
    )
    table.attrs = {
        "wrong_labels": noise_rate.wrong,
        "wrong_share": noise_rate.rate,
        "interval": list(noise_rate.interval),
    }
    return Audit(table, noise_rate, None, (), nothing[:0], rule, 1)


def _class_errors(given: npt.NDArray[Any], probabilities: npt.NDArray[np.floating]) -> Floats:
    """[n]: the probability that an example is wrongly in this class or not; 0 if the class is constant."""
    labels = given.astype(np.int64)
    if labels.min() == labels.max():
        return np.zeros(len(labels))
    both = np.column_stack([1 - probabilities, probabilities])
    return measure(fit_label_model([both], labels), labels).error_probability

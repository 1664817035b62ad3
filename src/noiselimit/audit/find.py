"""`find_label_issues`: find label errors in your data."""

import dataclasses
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from noiselimit.audit.issues import Audit, FlagRule, audit_probabilities, describe_missing
from noiselimit.errors import InputError, Notice

if TYPE_CHECKING:
    from noiselimit.audit.plan import AuditPlan


def find_label_issues(
    X: Any = None,  # noqa: N803
    y: Any = None,
    *,
    labels: Any = None,
    pred_probs: Any = None,
    expect_noise: float | None = None,
    budget: int | None = None,
    min_quality: float | None = None,
    fast: bool = False,
    plan: "AuditPlan | None" = None,
    seed: int | None = None,
    device: str = "auto",
    threads: int | None = None,
    many_classes: bool = False,
) -> pd.DataFrame:
    """Find label errors, by training on the data or from class probabilities that you have.

    Parameters
    ----------
    X, y : array [n, …] or DataFrame, array [n]
        Inputs and labels: numbers, strings or categories; None and NaN are missing labels. X can also be a
        DataSet, Examples or a torch Dataset, which bring their own labels.
    labels, pred_probs : array [n], array [n, C]
        Instead of X and y: labels, and probabilities from a model that was not trained on them. Labels are
        column numbers, or strings whose sorted names are the columns. A memory-mapped array is not copied.
    expect_noise, budget, min_quality : float, int, float
        Flag this share of the labels, this many labels, or all labels of lower quality. Give at most one. By
        default the estimated number of wrong labels is flagged.
    fast : bool
        Train in half the time, with slightly worse results.
    plan, seed, device, threads
        What to train, and how; see `AuditPlan` and `train`.
    many_classes : bool
        Accept fewer than ten examples per class.

    Returns
    -------
    DataFrame
        One row per example, in data order. Columns: `is_label_issue`; `label_quality` in [0, 1], lower is
        worse; `given_label`; `predicted_label`; `gap` in [0, √2]; `suggested_probability` of the predicted
        label; `rank_in_class`, 1 for the worst label of its class; `row`. Its `attrs` hold the estimated
        number of wrong labels, its share and interval, or None if the model learned too little; a `Notice`
        then says so and nothing is flagged by default. Examples without a label get a prediction only.
    """
    training = {"fast": fast, "plan": plan, "seed": seed, "device": device, "threads": threads}
    training["many_classes"] = many_classes
    defaults = {**dict.fromkeys(training), "fast": False, "device": "auto", "many_classes": False}
    _check_arguments(X, y, labels, pred_probs, [k for k, value in training.items() if value != defaults[k]])
    rule = FlagRule(expect_noise, budget, min_quality)
    if X is None:
        audit = audit_probabilities(labels, pred_probs, rule)
    else:
        audit = _audit_inputs(X, y, rule, **training)  # type: ignore[arg-type]
    for message in (describe_missing(audit.missing.tolist()), audit.warning, audit.note):
        if message:
            warnings.warn(Notice(message), stacklevel=2)
    return audit.table


def _check_arguments(inputs: Any, y: Any, labels: Any, pred_probs: Any, training: list[str]) -> None:
    """Require either X and y or labels and pred_probs."""
    has_inputs = inputs is not None or y is not None
    has_probabilities = labels is not None or pred_probs is not None
    if has_inputs == has_probabilities:
        given = "both data and probabilities" if has_inputs else "neither data nor probabilities"
        raise InputError(
            f"find_label_issues got {given}: call find_label_issues(X, y) or "
            "find_label_issues(labels=..., pred_probs=...)."
        )
    brings_labels = inputs is not None and not (hasattr(inputs, "shape") or isinstance(inputs, list))
    wanted = {"X": inputs, "y": y} if has_inputs else {"labels": labels, "pred_probs": pred_probs}
    for name, value in wanted.items():
        if value is None and not (name == "y" and brings_labels):
            raise InputError(f"{name} is missing: give {' and '.join(wanted)}.")
    if has_probabilities and training:
        raise InputError(f"{training[0]} is for training: leave it out if you give pred_probs.")


def _audit_inputs(
    inputs: Any, y: Any, rule: FlagRule, *, fast: bool, plan: "AuditPlan | None", seed: Any, **options: Any
) -> Audit:
    from noiselimit.audit.diagnostics import check_data
    from noiselimit.audit.fit import fit
    from noiselimit.audit.plan import DEFAULT, FAST
    from noiselimit.audit.validation import prepare_data

    if plan is not None and fast:
        raise InputError("plan and fast both set what to train: give one of them.")
    plan = plan or (FAST if fast else DEFAULT)
    if seed is not None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise InputError(f"seed is {seed!r}: give an integer ≥ 0.")
        plan = dataclasses.replace(plan, seeds=(int(seed),))
    data, given = prepare_data(inputs, y)
    for note in check_data(data, many_classes=options["many_classes"]).notes:
        warnings.warn(Notice(note), stacklevel=3)
    return fit(data, plan, **options).audit(given, rule)

"""`find_label_issues`: which labels are wrong, from inputs to train on or from probabilities."""

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
    """Which labels are wrong: one row per example, in data order.

    `find_label_issues(X, y)` trains on inputs [n, …] (an array, a DataFrame or pictures) and labels [n],
    numbers or names. X may also be a `DataSet`, `Examples` or torch Dataset, which bring their labels.
    `find_label_issues(labels=…, pred_probs=…)` is for people who have class probabilities [n, C], such as a
    memory-mapped array; labels are then numbers of columns, or strings whose sorted names are the columns.

    Columns: `is_label_issue`; `label_quality` in [0, 1], lower is worse; `given_label`; `predicted_label`;
    `gap` in [0, √2]; `suggested_probability` of the predicted label; `rank_in_class`, 1 for the worst of its
    given class; `row`. How many are flagged is estimated, or rule_given by one of `expect_noise` (the worst
    share), `budget` (the N worst) and `min_quality` (all of lower quality). Rows without a label are listed
    in a `Notice` and left unflagged, with a prediction. `attrs` of the table hold the estimated number of
    wrong labels, its share and interval.

    Where something is trained that learned too little to fit, a `Notice` says so, `attrs` hold None, and
    nothing is flagged that was not asked for. `fast` halves the time, `plan` says what to train, and
    `many_classes` insists that labels with few examples of each are meant; the same `seed` gives the same
    result on one device.
    """
    training: dict[str, Any] = {
        "fast": fast,
        "plan": plan,
        "seed": seed,
        "device": device,
        "threads": threads,
        "many_classes": many_classes,
    }
    _require_one_kind(X, y, labels, pred_probs, [name for name in training if training[name] != _USUAL[name]])
    rule = FlagRule(expect_noise, budget, min_quality)
    if X is None:
        audit = audit_probabilities(labels, pred_probs, rule)
    else:
        audit = _audit_inputs(X, y, rule, **training)
    if len(audit.missing):
        warnings.warn(Notice(describe_missing(audit.missing.tolist())), stacklevel=2)
    for said in (audit.warning, audit.note):
        if said is not None:
            warnings.warn(Notice(said), stacklevel=2)
    return audit.table


_USUAL = {
    "fast": False,
    "plan": None,
    "seed": None,
    "device": "auto",
    "threads": None,
    "many_classes": False,
}


def _require_one_kind(inputs: Any, y: Any, labels: Any, pred_probs: Any, training: list[str]) -> None:
    """Complain unless there is either something to train on or probabilities with their labels."""
    trains, ready = inputs is not None or y is not None, pred_probs is not None or labels is not None
    if trains == ready:
        what = "both inputs to train on and" if ready else "neither inputs to train on nor"
        raise InputError(
            f"there are {what} probabilities: call find_label_issues(X, y), or "
            "find_label_issues(labels=..., pred_probs=...)."
        )
    wanted = {"labels": labels, "pred_probs": pred_probs} if ready else {"X": inputs}
    for name, value in wanted.items():
        if value is None:
            other = "y" if name == "X" else next(other for other in wanted if other != name)
            raise InputError(f"there is {other} but no {name}: give both.")
    if inputs is not None and y is None and (hasattr(inputs, "shape") or isinstance(inputs, list)):
        raise InputError("there is X but no y: give both.")
    if ready and training:
        raise InputError(f"{training[0]} is for training, which probabilities do without: leave it out.")


def _audit_inputs(
    inputs: Any, y: Any, rule: FlagRule, *, fast: bool, plan: "AuditPlan | None", seed: Any, **how: Any
) -> Audit:
    from noiselimit.audit.diagnostics import check_data
    from noiselimit.audit.fit import fit
    from noiselimit.audit.plan import DEFAULT, FAST
    from noiselimit.audit.validation import prepare_data

    if plan is not None and fast:
        raise InputError("plan and fast both say what to train: give one of them.")
    chosen = plan or (FAST if fast else DEFAULT)
    if seed is not None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise InputError(f"seed is {seed!r}: give a whole number ≥ 0.")
        chosen = dataclasses.replace(chosen, seeds=(int(seed),))
    data, given = prepare_data(inputs, y)
    for note in check_data(data, many_classes=how["many_classes"]).notes:
        warnings.warn(Notice(note), stacklevel=3)
    return fit(data, chosen, **how).audit(given, rule)

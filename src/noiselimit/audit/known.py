"""How right an audit is, where the clean labels are known."""

from dataclasses import dataclass

import numpy as np

from noiselimit.audit.issues import Audit
from noiselimit.data.examples import DataSet
from noiselimit.runs.scores import roc_auc


@dataclass(frozen=True)
class Known:
    """Counted among the examples that have a label."""

    wrong: int
    """Labels that are not the clean ones."""
    found: int
    """Of these, the flagged ones."""
    gap_auc: float | None
    """Area under the ROC curve of the gap; None where all labels are wrong or none is."""


def find_known(audit: Audit, data: DataSet) -> Known | None:
    """None where clean labels are not known."""
    wrong = data.examples.wrong
    if wrong is None:
        return None
    there = np.ones(len(wrong), bool)
    there[audit.missing] = False
    wrong = wrong[there]
    flagged = audit.table["is_label_issue"].to_numpy(bool)[there]
    gaps = audit.table["gap"].to_numpy(np.float64)[there]
    return Known(int(wrong.sum()), int((wrong & flagged).sum()), roc_auc(gaps, wrong))

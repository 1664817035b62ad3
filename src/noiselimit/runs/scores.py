"""Scores of labels from class probabilities: gap, label quality and how well they find wrong labels."""

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

PIECE = 2**20  # probabilities at a time, to save memory


def gap(probabilities: npt.NDArray[np.floating], labels: Labels) -> Floats:
    """[n]: ‖onehot(y) − probabilities‖ in [0, √2], from probabilities [n, C]."""
    # ‖e_y − s‖² = ‖s‖² − 2 s_y + 1, written as (1 − s_y)² + Σ_{j≠y} s_j² to stay exact near zero.
    gaps = np.empty(len(labels))
    step = max(1, PIECE // max(probabilities.shape[1], 1))
    for start in range(0, len(labels), step):
        s = probabilities[start : start + step].astype(np.float64)
        rows, own = np.arange(len(s)), labels[start : start + step]
        s[rows, own] = 1.0 - s[rows, own]
        gaps[start : start + step] = np.sqrt(np.square(s, out=s).sum(1))
    return gaps


def label_quality(gaps: Floats) -> Floats:
    """1 − gap/√2, in [0, 1]; lower is worse, as in cleanlab."""
    return np.asarray(np.clip(1.0 - gaps / np.sqrt(2.0), 0.0, 1.0), np.float64)


def roc_auc(gaps: Floats, wrong: Flags) -> float | None:
    """Probability that a wrong label has a larger gap than a right one, ties half; None without both."""
    positives = int(wrong.sum())
    negatives = len(wrong) - positives
    if not positives or not negatives:
        return None
    rank_sum = float(rankdata(gaps)[wrong].sum())
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)


def memorised(predicted: Labels, given: Labels, wrong: Flags) -> float | None:
    """Share of the wrong labels that the classifier reproduces; None if none is wrong."""
    return float((predicted == given)[wrong].mean()) if wrong.any() else None

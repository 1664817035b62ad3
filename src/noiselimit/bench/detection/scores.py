"""How suspicious a label is by the formulas of others, and how well scores tell wrong from right."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Probabilities = npt.NDArray[np.floating[Any]]


def self_confidence(probabilities: Probabilities, given: Labels) -> Floats:
    """[n], higher is worse: minus the probability [n, C] of the given label, cleanlab's self-confidence."""
    return -np.take_along_axis(probabilities, given[:, None], 1)[:, 0].astype(np.float64)


def normalized_margin(probabilities: Probabilities, given: Labels) -> Floats:
    """[n], higher is worse: minus cleanlab's normalized margin (p_given − the largest other + 1) / 2."""
    own = -self_confidence(probabilities, given)
    largest = np.where(_is_given(probabilities, given), -np.inf, probabilities).max(1).astype(np.float64)
    return np.asarray(-(own - largest + 1) / 2)


def loss(probabilities: Probabilities, given: Labels) -> Floats:
    """[n]: −log of the given label's probability, exact also where that rounds to 1."""
    rest = np.where(_is_given(probabilities, given), 0.0, probabilities.astype(np.float64)).sum(1)
    own = -self_confidence(probabilities, given)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(rest / own))


def _is_given(probabilities: Probabilities, given: Labels) -> Flags:
    """[n, C]"""
    return np.asarray(np.arange(probabilities.shape[1]) == given[:, None])


def area_under_margin(margins: npt.NDArray[np.floating[Any]], epochs: int | None = None) -> Floats:
    """[n], higher is worse: minus the mean of margins [E, n] over the first so many epochs, or over all."""
    return np.asarray(-margins[:epochs].astype(np.float64).mean(0))


def detection(scores: Floats, wrong: Flags) -> dict[str, float | None]:
    """`auroc` and `auprc` of scores [n], higher being worse; None where all labels are right, or wrong."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    if wrong.all() or not wrong.any():
        return {"auroc": None, "auprc": None}
    finite = np.nan_to_num(scores, posinf=np.finfo(np.float64).max)
    return {
        "auroc": float(roc_auc_score(wrong, finite)),
        "auprc": float(average_precision_score(wrong, finite)),
    }


def flagging(flags: Flags, noise_rate: float, wrong: Flags) -> dict[str, float | None]:
    """What a tool's own threshold and its own estimate of the share of wrong labels are worth.

    `f1` is None where no label is wrong; there `flagged` is the rate of false positives.
    """
    hits = int((flags & wrong).sum())
    return {
        "f1": 2 * hits / (int(flags.sum()) + int(wrong.sum())) if wrong.any() else None,
        "flagged": float(flags.mean()),
        "noise_rate": noise_rate,
        "noise_rate_error": noise_rate - float(wrong.mean()),
    }


def rates(flags: Flags, wrong: Flags) -> dict[str, float | None]:
    """`recall`: the share of wrong labels that is flagged; `false_positives`: that of right ones.

    None where there are none of them.
    """
    return {
        "recall": float(flags[wrong].mean()) if wrong.any() else None,
        "false_positives": float(flags[~wrong].mean()) if not wrong.all() else None,
    }

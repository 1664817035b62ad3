"""From what was trained to each tool's figures: its scores, threshold and estimate against the truth."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from noiselimit.audit.given import Given
from noiselimit.audit.issues import Audit, audit_given, audit_probabilities
from noiselimit.bench.detection.cleanlab_says import cleanlab_issues, has_cleanlab
from noiselimit.bench.detection.peers import Arrays
from noiselimit.bench.detection.scores import (
    Flags,
    Floats,
    Labels,
    Probabilities,
    area_under_margin,
    detection,
    flagging,
    loss,
    normalized_margin,
    rates,
    self_confidence,
)
from noiselimit.bench.detection.threshold import below_threshold

Entry = dict[str, Any]
CLEANLAB = {"self-confidence": self_confidence, "normalized-margin": normalized_margin}
WHEN = ("last", "stopped")
TRAINED = {
    **{f"cleanlab-{rank}-{when}": ("folds",) for when in WHEN for rank in CLEANLAB},
    "aum-last": ("margins",),
    "aum-stopped": ("margins", "plain"),
    **{f"ce-loss-{when}": ("plain",) for when in WHEN},
    "folds-averaged": ("folds",),
    "ours-default": ("default",),
    "ours-fast": ("fast",),
}
"""Method → the trainings that it needs, whose seconds add up. `folds-averaged` is no tool, but shows what
LIMIT is worth: our score and count, of the folds' probabilities, averaged over epochs as ours are."""


def entries(found: Mapping[str, Arrays], given: Labels, wrong: Flags) -> dict[str, Entry]:
    """Method → its figures, of those whose trainings were found; training → its arrays."""
    made = {}
    for method, needed in TRAINED.items():
        if all(training in found for training in needed):
            made[method] = _entry(method, found, given, wrong)
    return made


def _entry(method: str, found: Mapping[str, Arrays], given: Labels, wrong: Flags) -> Entry:
    tool, _, rest = method.partition("-")
    if tool == "ours":
        return _ours(found[rest], given, wrong)
    if tool == "folds":
        return _judged(audit_probabilities(given, found["folds"][rest]), wrong)
    if tool == "aum":
        return _aum(found, None if rest == "last" else int(found["plain"]["best_epochs"][0]), wrong)
    rank, _, when = rest.rpartition("-")
    if tool == "ce":
        return dict(detection(loss(found["plain"][when], given), wrong))
    probabilities = found["folds"][when]
    return {
        **detection(CLEANLAB[rank](probabilities, given), wrong),
        **(cleanlab_entry(probabilities, given, wrong) if has_cleanlab() else {}),
    }


def _aum(found: Mapping[str, Arrays], epochs: int | None, wrong: Flags) -> Entry:
    """Its threshold needs a training more, and its estimate is what lies below."""
    entry: Entry = dict(detection(area_under_margin(found["margins"]["margins"], epochs), wrong))
    if "threshold" in found:
        flags = below_threshold(found["threshold"]["margins"], found["threshold"]["sets"], epochs)
        entry |= flagging(flags, float(flags.mean()), wrong)
    return entry


def cleanlab_entry(probabilities: Probabilities, given: Labels, wrong: Flags) -> Entry:
    """What cleanlab's own functions say."""
    return dict(flagging(*cleanlab_issues(given, probabilities), wrong))


def _ours(found: Arrays, given: Labels, wrong: Flags) -> Entry:
    """The product itself; beside it, whether examples that were seen in training are judged worse."""
    warning = str(found["warning"]) or None  # then the audit flags nothing
    known_from = int(found["known_from"])
    audit = audit_given(Given(given, None), found["probabilities"], warning=warning, known_from=known_from)
    seen = found["seen"].astype(np.bool_)
    plainly = _judged(audit_given(Given(given, None), found["unscaled"], warning=warning), wrong)
    return {
        **_judged(audit, wrong),
        **_part(audit, wrong, seen, "seen"),
        **_part(audit, wrong, ~seen, "held_out"),
        **{f"{figure}_unscaled": plainly[figure] for figure in ("auroc", "f1")},
        "trained": json.loads(str(found["trained"])),
        "warning": warning,
        "known_from": known_from,
    }


def _judged(audit: Audit, wrong: Flags) -> Entry:
    """Figures of all examples together."""
    gaps, flags = _gaps_and_flags(audit)
    told: Entry = {
        **detection(gaps, wrong),
        **flagging(flags, audit.amount.rate, wrong),
        "interval": list(audit.amount.interval),
    }
    if audit.warning is not None:  # then it gives no number
        del told["noise_rate"], told["noise_rate_error"], told["interval"]
    return told


def _part(audit: Audit, wrong: Flags, part: Flags, name: str) -> Entry:
    """Figures of some examples, by the same scores and the same flags."""
    gaps, flags = _gaps_and_flags(audit)
    found = {"auroc": detection(gaps[part], wrong[part])["auroc"], **rates(flags[part], wrong[part])}
    return {f"{figure}_{name}": value for figure, value in found.items()}


def _gaps_and_flags(audit: Audit) -> tuple[Floats, Flags]:
    """[n] each."""
    table = audit.table
    return table["gap"].to_numpy(np.float64), table["is_label_issue"].to_numpy(np.bool_)

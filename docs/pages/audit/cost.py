"""What audits cost beside a cross-validation, and why more than aimed at: sentences of docs/audit.md."""

import math
from collections.abc import Sequence
from statistics import fmean

from noiselimit.audit.candidates import DEFAULT_RECIPES, FAST_RECIPES
from noiselimit.automatic import FEWEST_STEPS
from noiselimit.bench.detection.folds import FOLDS as FOLD_COUNT
from noiselimit.bench.detection.summary import Summary
from pages.audit.verdict import FAST, NAMES, OURS, problem_name

FOLDS = "cleanlab-self-confidence-last"
"""Whose seconds are those of the cross-validation, whose folds train as one cohort."""
SINGLE_FOLD = "ce-loss-last"
"""Whose seconds are those of one run as large as a fold."""
AIMS = {OURS: 1.0, FAST: 0.5}
RECIPES = {OURS: DEFAULT_RECIPES, FAST: FAST_RECIPES}
FEW_STEPS = (
    f"so few examples make few steps of an epoch, and an audit takes {FEWEST_STEPS} steps at least instead "
    "of fewer epochs"
)
STARTED = "what starts from a CE run waits for that to be trained before it"
TWO_NETWORKS = "a step of LIMIT trains two networks, and one of a fold trains one"


def ratio(summary: Summary, method: str, which: str) -> float | None:
    """Seconds of one of ours over those of the cross-validation."""
    if method not in summary.methods or FOLDS not in summary.methods:
        return None
    return summary.methods[method][which].mean / summary.methods[FOLDS][which].mean


def cost_sentence(summaries: Sequence[Summary], which: str) -> str:
    """The range over problems, whether it is what we aim at, and why not where it is not."""
    said = []
    for method, aim in AIMS.items():
        found = [value for summary in summaries if (value := ratio(summary, method, which)) is not None]
        if not found:
            continue
        kept = sum(value <= aim for value in found)
        sentence = (
            f"{NAMES[method]} takes {min(found):.2f} to {max(found):.2f} of the cross-validation's time, "
            f"{fmean(found):.2f} on average (aim: at most {aim:g}, kept on {kept} of {len(found)})"
        )
        alone = [value for summary in summaries if (value := ratio_to_single_folds(summary, method, which))]
        if alone:
            sentence += f", {fmean(alone):.2f} of it if the folds trained one after another, as is usual"
        said.append(sentence)
    return " ".join(["; ".join(said) + ".", *slow_sentences(summaries, which)])


def ratio_to_single_folds(summary: Summary, method: str, which: str) -> float | None:
    """The same for folds that are no cohort: five times the one run on four fifths of the examples."""
    if method not in summary.methods or SINGLE_FOLD not in summary.methods:
        return None
    return summary.methods[method][which].mean / (FOLD_COUNT * summary.methods[SINGLE_FOLD][which].mean)


def slow_sentences(summaries: Sequence[Summary], which: str) -> list[str]:
    """Where an audit takes more than it should, and why: one for each reason."""
    slow: dict[tuple[str, str], list[str]] = {}
    for method, aim in AIMS.items():
        for summary in summaries:
            value = ratio(summary, method, which)
            if value is not None and value > aim:
                why = _reason(summary, method)
                slow.setdefault((method, why), []).append(f"{problem_name(summary)} ({value:.2f})")
    return [
        f"{NAMES[method]} takes more than {AIMS[method]:g} on {', '.join(names)}"
        + (f": {why}." if why else ".")
        for (method, why), names in slow.items()
    ]


def _reason(summary: Summary, method: str) -> str:
    """From what its rows say was trained; nothing where they do not."""
    row = summary.rows[0]
    runs = row["methods"][method].get("trained")
    if not runs:
        return ""
    training = row["training"]
    share = math.ceil(training["epochs"] * RECIPES[method].fitting(training["network"]).share_of_epochs)
    reasons = [
        *([FEW_STEPS] if runs[0]["epochs"] > share else []),
        *([STARTED] if any(run["method"].endswith("+init") for run in runs) else []),
    ]
    return ", and ".join(reasons or [TWO_NETWORKS])

"""Who is first, said by the figures: sentences of docs/audit.md."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from noiselimit.bench.detection.folds import FOLDS as FOLD_COUNT
from noiselimit.bench.detection.summary import Summary, is_ours

OURS, FAST = "ours-default", "ours-fast"
NAMES = {
    "cleanlab-self-confidence-last": "cleanlab, self-confidence",
    "cleanlab-normalized-margin-last": "cleanlab, normalized margin",
    "cleanlab-self-confidence-stopped": "cleanlab, self-confidence, stopped early",
    "cleanlab-normalized-margin-stopped": "cleanlab, normalized margin, stopped early",
    "aum-last": "AUM",
    "aum-stopped": "AUM, stopped early",
    "ce-loss-last": "loss of a CE model",
    "ce-loss-stopped": "loss of a CE model, stopped early",
    OURS: "`noiselimit audit`",
    FAST: "`noiselimit audit --fast`",
}
FOLDS = "cleanlab-self-confidence-last"
"""Whose seconds are those of the cross-validation, whose folds train as one cohort."""
SINGLE_FOLD = "ce-loss-last"
"""Whose seconds are those of one run as large as a fold."""


def problem_name(summary: Summary) -> str:
    return f"{summary.data} {summary.noise}"


def clock(content: Mapping[str, Any]) -> str:
    """Which seconds are compared: on a CPU those of its threads, since others may compute there as well."""
    return "seconds" if content["device_type"] == "cuda" else "cpu_seconds"


def with_noise(summaries: Sequence[Summary]) -> list[Summary]:
    """Those in which somebody can be first."""
    return [summary for summary in summaries if summary.best("auroc") is not None]


def verdict(summaries: Sequence[Summary]) -> str:
    """On how many problems our default audit has the highest mean, and who has it elsewhere."""
    noisy = with_noise(summaries)
    sentences = []
    for figure, name in (("auroc", "AUROC"), ("auprc", "AUPRC"), ("f1", "F1")):
        having = [summary for summary in noisy if figure in summary.methods.get(OURS, {})]
        ahead = [summary for summary in having if leads(summary, figure)]
        wins = [win for summary in having for win in single_wins(summary, figure)]
        sentence = (
            f"In mean {name} the default audit is ahead of every peer on {len(ahead)} of {len(having)} "
            f"problems (seed by seed, in {sum(wins)} of {len(wins)} cases)"
        )
        behind = [
            f"{problem_name(summary)} ({NAMES[str(best_peer(summary, figure))]})"
            for summary in having
            if summary not in ahead
        ]
        sentences.append(sentence + (f"; it is not on {', '.join(behind)}." if behind else "."))
    return " ".join(sentences)


def best_peer(summary: Summary, figure: str) -> str | None:
    """The best of what is not ours."""
    return summary.best(figure, [method for method in summary.methods if not is_ours(method)])


def leads(summary: Summary, figure: str) -> bool:
    """Whether our default audit has a higher mean than every peer."""
    peer = best_peer(summary, figure)
    ours = summary.methods[OURS][figure].mean
    return peer is None or ours > summary.methods[peer][figure].mean


def single_wins(summary: Summary, figure: str) -> list[bool]:
    """Whether our default audit was ahead of every peer, seed by seed."""
    wins = []
    for row in summary.rows:
        found = {method: entry[figure] for method, entry in row["methods"].items() if figure in entry}
        if OURS in found:
            wins.append(all(found[OURS] > value for method, value in found.items() if not is_ours(method)))
    return wins


def ratio(summary: Summary, method: str, which: str) -> float | None:
    """Seconds of one of ours over those of the cross-validation."""
    if method not in summary.methods or FOLDS not in summary.methods:
        return None
    return summary.methods[method][which].mean / summary.methods[FOLDS][which].mean


def cost_sentence(summaries: Sequence[Summary], which: str) -> str:
    """The range over problems, and whether it is what we aim at."""
    said = []
    for method, aim in ((OURS, 1.0), (FAST, 0.5)):
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
    return "; ".join(said) + "."


def ratio_to_single_folds(summary: Summary, method: str, which: str) -> float | None:
    """The same for folds that are no cohort: five times the one run on four fifths of the examples."""
    if method not in summary.methods or SINGLE_FOLD not in summary.methods:
        return None
    return summary.methods[method][which].mean / (FOLD_COUNT * summary.methods[SINGLE_FOLD][which].mean)

"""Who is first, said by the figures: sentences of docs/audit.md."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from noiselimit.bench.detection.summary import ABLATION, Summary, is_peer

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
    ABLATION: "no tool: our score on these folds, averaged over epochs",
    OURS: "`noiselimit audit`",
    FAST: "`noiselimit audit --fast`",
}


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
    return summary.best(figure, [method for method in summary.methods if is_peer(method)])


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
            wins.append(all(found[OURS] > value for method, value in found.items() if is_peer(method)))
    return wins


def ablation_sentence(summaries: Sequence[Summary]) -> str | None:
    """What LIMIT adds: our score on probabilities of CE folds, averaged over epochs as ours are."""
    both = [
        summary
        for summary in with_noise(summaries)
        if all("auroc" in summary.methods.get(method, {}) for method in (OURS, ABLATION))
    ]
    if not both:
        return None
    means = [[summary.methods[method]["auroc"].mean for summary in both] for method in (OURS, ABLATION)]
    ahead = [ours > other for ours, other in zip(*means, strict=True)]
    return (
        "What LIMIT itself adds shows beside our own score on the cross-validation's probabilities, averaged "
        "over the second half of the epochs as ours are: in mean AUROC the default audit is ahead of that "
        f"on {sum(ahead)} of {len(both)} problems ({fmean(means[0]):.4f} against {fmean(means[1]):.4f} on "
        "average)."
    )

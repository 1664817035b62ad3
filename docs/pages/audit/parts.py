"""Whether examples that an audit trained on are judged as well as those that it held out: docs/audit.md."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from noiselimit.bench.detection.summary import PARTS, Summary
from noiselimit.report.wording import percent
from pages.audit.figures import percents, score
from pages.audit.verdict import FAST, NAMES, OURS, problem_name, with_noise
from pages.performance.words import markdown

SMALL = 0.01
"""A difference of AUROC up to which parts are said to be judged alike."""
MISSED = 0.05
"""A difference of the share of wrong labels flagged from which on it is told."""
COLUMNS = (
    "data and noise, audit, AUROC: all together, seen in training, held out, "
    "wrong labels flagged: seen, held out, right labels flagged: seen, held out"
)
Found = Mapping[str, Any]


def parts_table(summaries: Sequence[Summary]) -> str:
    """Both audits, on every problem."""
    rows = [
        [
            problem_name(summary),
            NAMES[method],
            *(score(found.get(name)) for name in ("auroc", *(f"auroc_{part}" for part in PARTS))),
            *(
                percents(found.get(f"{name}_{part}"))
                for name in ("recall", "false_positives")
                for part in PARTS
            ),
        ]
        for summary in summaries
        for method in (OURS, FAST)
        if (found := summary.methods.get(method)) is not None
    ]
    return markdown(COLUMNS.split(", "), rows, words=2)


def parts_sentence(summaries: Sequence[Summary]) -> str:
    """What the figures of both audits say, and where."""
    return " ".join(
        said for method in (OURS, FAST) if (said := _sentence(with_noise(summaries), method)) is not None
    )


def _sentence(summaries: Sequence[Summary], method: str) -> str | None:
    """None where nothing was measured by part."""
    measured = [summary for summary in summaries if "auroc_seen" in summary.methods.get(method, {})]
    if not measured:
        return None
    worse = [_behind(summary, method, "auroc_held_out", "auroc_seen") for summary in measured]
    apart = [_lost(summary, method) for summary in measured]
    return (
        f"{NAMES[method]} judges examples seen in training as well as held-out ones, or worse by no more "
        f"than {SMALL:g} of AUROC, {_where(measured, worse)}. Both together have an AUROC that is no more "
        f"than {SMALL:g} below the lower of the two, as if both had one scale, {_where(measured, apart)}."
    ) + _flags_sentence(measured, method)


def _flags_sentence(summaries: Sequence[Summary], method: str) -> str:
    """What one threshold for both parts makes of them; nothing where flags were not measured by part."""
    measured = [summary for summary in summaries if "recall_seen" in summary.methods[method]]
    if not measured:
        return ""
    wrong, right = (
        " and ".join(
            percent(fmean(summary.methods[method][f"{name}_{part}"].mean for summary in measured))
            for part in PARTS
        )
        for name in ("recall", "false_positives")
    )
    missed = [
        f"{problem_name(summary)} ({value:.2f} below)"
        for summary in measured
        if (value := _behind(summary, method, "recall_held_out", "recall_seen")) > MISSED
    ]
    fewer = f"; fewer of the wrong ones seen than held out on {', '.join(missed)}" if missed else ""
    return (
        f" On average it flags {wrong} of the wrong labels, seen and held out, and {right} of the right "
        f"ones{fewer}."
    )


def _where(summaries: Sequence[Summary], lost: Sequence[float]) -> str:
    """On how many problems little is lost, and where more is."""
    more = [
        f"{problem_name(summary)} ({value:.3f} below)"
        for summary, value in zip(summaries, lost, strict=True)
        if value > SMALL
    ]
    count = f"on {len(lost) - len(more)} of {len(lost)} problems"
    return f"{count}, but not on {', '.join(more)}" if more else count


def _behind(summary: Summary, method: str, better: str, worse: str) -> float:
    found = summary.methods[method]
    return found[better].mean - found[worse].mean


def _lost(summary: Summary, method: str) -> float:
    """How far the AUROC of all examples is below that of either part."""
    return min(_behind(summary, method, f"auroc_{part}", "auroc") for part in PARTS)


def recipes_sentence(summaries: Sequence[Summary]) -> str:
    """What audits trained on each data set, and which of it counted."""
    said = []
    for name in dict.fromkeys(summary.data for summary in summaries):
        rows = [row for summary in summaries if summary.data == name for row in summary.rows]
        audits = [
            f"{NAMES[method]} {trained}"
            for method in (OURS, FAST)
            if (trained := _trained([row["methods"].get(method, {}) for row in rows]))
        ]
        if audits:
            said.append(f"- {name} ({rows[0]['training']['network']}): {'; '.join(audits)}.")
    if not said:
        return "What the audits trained, the files do not tell."
    return "\n".join(["Each has the recipe of its network:", "", *said])


def _trained(entries: Sequence[Found]) -> str:
    """The runs of one audit over all rows, each with the number of rows in which it counted."""
    runs = [run for entry in entries for run in entry.get("trained", ())]
    counted: dict[str, list[bool]] = {}
    for run in runs:
        beta = f" (β {run['beta']:g})" if run.get("beta") is not None else ""
        counted.setdefault(f"{run['method']}{beta}", []).append(bool(run.get("counted", True)))
    return " and ".join(
        f"{name}, which counted in {sum(which)} of {len(which)} rows" for name, which in counted.items()
    )

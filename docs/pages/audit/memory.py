"""What it is worth that memorised labels are brought to the scale of held-out ones: docs/audit.md."""

from collections.abc import Sequence

from noiselimit.bench.detection.summary import Summary
from pages.audit.figures import score
from pages.audit.verdict import FAST, NAMES, OURS, problem_name, with_noise
from pages.performance.words import markdown

COLUMNS = "data and noise, audit, seeds with memorised labels, AUROC: scaled, as said, F1: scaled, as said"


def memory_table(summaries: Sequence[Summary]) -> str:
    """Problems with wrong labels on which some audit found labels memorised; then what that changed."""
    measured = [
        (summary, method)
        for summary in with_noise(summaries)
        for method in (OURS, FAST)
        if "auroc_unscaled" in summary.methods.get(method, {})
    ]
    if not measured:
        return ""
    changed = [(summary, method) for summary, method in measured if _scaled(summary, method)]
    none = f"on {len(measured) - len(changed)} of {len(measured)} audits of data with wrong labels"
    sentence = f"No label was found memorised in any seed {none}, and nothing was changed there."
    if not changed:
        return sentence
    return f"{markdown(COLUMNS.split(', '), [_row(*each) for each in changed], words=2)}\n\n{sentence}"


def _row(summary: Summary, method: str) -> list[str]:
    found = summary.methods[method]
    names = ("auroc", "auroc_unscaled", "f1", "f1_unscaled")
    return [
        problem_name(summary),
        NAMES[method],
        f"{_scaled(summary, method)} of {len(summary.rows)}",
        *(score(found.get(name)) for name in names),
    ]


def _scaled(summary: Summary, method: str) -> int:
    return sum(row["methods"][method]["known_from"] < row["n"] for row in summary.rows)

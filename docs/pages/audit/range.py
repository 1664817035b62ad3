"""How often the range beside an estimate held the truth: a sentence of docs/audit.md."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from noiselimit.bench.detection.summary import Summary
from pages.audit.verdict import FAST, NAMES, OURS, problem_name


def range_sentence(summaries: Sequence[Summary]) -> str:
    """In how many runs of each audit, how wide it was, and where it did not."""
    said = []
    for method in (OURS, FAST):
        held = [
            [low <= row["wrong"] <= high for row in summary.rows for low, high in _ranges(row, method)]
            for summary in summaries
        ]
        widths = [
            high - low for summary in summaries for row in summary.rows for low, high in _ranges(row, method)
        ]
        if not widths:
            continue
        missed = [
            f"{problem_name(summary)} ({sum(which)} of {len(which)})"
            for summary, which in zip(summaries, held, strict=True)
            if not all(which)
        ]
        sentence = (
            f"The range of {NAMES[method]} held the share of labels that were made wrong in "
            f"{sum(map(sum, held))} of {len(widths)} runs, and was {100 * fmean(widths):.1f} % of the "
            "labels wide on average"
        )
        said.append(f"{sentence}; it did not always on {', '.join(missed)}." if missed else f"{sentence}.")
    return " ".join(said) if said else "Not measured yet."


def _ranges(row: Mapping[str, Any], method: str) -> list[tuple[float, float]]:
    """The row's range, if it has one."""
    interval = row["methods"].get(method, {}).get("interval")
    return [] if interval is None else [(interval[0], interval[1])]

"""What memory a cohort takes, and what its measured peaks contain besides, for docs/performance.md."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from performance_charts import GIB, points_by_n

from noiselimit.cli.bench_tables import number

LEFT_BEHIND = 64 * 2**20  # bytes of library workspaces for each new stream
NEW_STREAMS = "a78fcac"  # a commit at which every training made one
Content = Mapping[str, Any]
Points = Sequence[Content]


def per_run(points: Points) -> str:
    """From the two largest K, where what does not grow with K weighs least."""
    whole = [point for point in points if point["parts"] == 1]
    if len(whole) < 2:
        return ""
    low, high = whole[-2:]
    grown = (high["peak_reserved"] - low["peak_reserved"]) / GIB / (high["k"] - low["k"])
    return f" One more run reserves {number(grown)} GiB, from K = {low['k']} to {high['k']}."


def left_behind(bench: Content) -> str:
    """That later points contain what trainings before them left, if peaks say so."""
    points = [point for point in points_by_n(bench).get(1, []) if point["sweep"] == "n"]
    peaks = [point["peak_memory"] for point in points if point.get("peak_memory")]
    steps = [after - before for before, after in pairwise(peaks)]
    known = str(bench.get("commit") or "").startswith(NEW_STREAMS)
    if not steps or not (known or min(steps) >= LEFT_BEHIND):
        return ""
    ends = dict.fromkeys(number(each / 1e6) for each in (min(steps), max(steps)))
    said = (
        " Later points contain what trainings before them in the process left behind: in the sweep over n at "
        f"K = 1 the peak in tensors grows by {' to '.join(ends)} MB from point to point"
    )
    why = (
        f", about the {number(LEFT_BEHIND / 1e6)} MB of library workspaces kept for the new stream that "
        "every training made at this commit; since then all share one, which is not measured anew here"
    )
    return f"{said}{why if known else ''}."

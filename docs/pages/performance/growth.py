"""What the charts of docs/performance.md show: a few sentences under each, from the same points."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from noiselimit.bench.work import MNIST
from noiselimit.report.wording import percent
from pages.performance.charts import FILES, TITLES, points_by_k, points_by_n, points_with_memory
from pages.performance.memory import per_run, repeated
from pages.performance.words import count, seconds, times

Content = Mapping[str, Any]
Points = Sequence[Content]


def growth(bench: Content) -> str:
    """The charts as Markdown, each with its sentences."""
    by_k, by_n, by_memory = points_by_k(bench), points_by_n(bench), points_with_memory(bench)
    parts = []
    if by_k:
        best = min(by_k, key=lambda point: point["seconds"])
        parts += [
            _picture("k"),
            f"{_ends(by_k, 'k', 'K = ')} per run and epoch; least at K = {best['k']}: "
            f"{seconds(best['seconds'])}. n = {count(by_k[0]['n'])}. The dotted level is the higher of "
            f"the two floors below.{_split(by_k)}{_repeated(bench)}",
        ]
    if by_n:
        said = "; ".join(f"K = {k}: {_ends(points, 'n', 'n = ')}" for k, points in by_n.items())
        parts += [
            _picture("n"),
            f"{said}.{_borrowed(by_n)} The validation and test examples, evaluated after every epoch, are as "
            f"many at every n, so time cannot fall in proportion to n.{_flat(by_n)}{_falling(by_n)}",
        ]
    if by_memory:
        parts += [
            _picture("memory"),
            f"In tensors: bytes allocated at most; reserved: what the allocator held for them, the memory of "
            f"recorded steps included.{per_run(by_memory)}{repeated(bench)}{_split(by_memory)}",
        ]
    return "\n\n".join(parts) or "No sweep was measured: add `--sweep all`."


def _picture(name: str) -> str:
    return f"![{TITLES[name]}, both axes logarithmic.]({FILES[name]})"


def _ends(points: Points, axis: str, label: str) -> str:
    """`K = 1: 0.08 s, K = 256: 0.009 s`."""
    ends = (points[0], points[-1]) if len(points) > 1 else points
    return ", ".join(f"{label}{count(point[axis])}: {seconds(point['seconds'])}" for point in ends)


def _split(points: Points) -> str:
    split = [f"K = {point['k']} ({point['parts']})" for point in points if point["parts"] > 1]
    return f" Too large for the memory, and trained in parts: {', '.join(split)}." if split else ""


def _repeated(bench: Content) -> str:
    """What was measured more than once, in table and sweeps: how far repeated measurements differ."""
    entries = [entry for row in bench["rows"] for entry in row.get("tried", [row])]
    found: dict[tuple[int, int], list[float]] = {}
    for entry in [*entries, *bench["points"]]:
        if "seconds" in entry and (entry["network"], entry["method"]) == (MNIST.network, MNIST.method):
            found.setdefault((entry["k"], entry["n"]), []).append(entry["seconds"])
    said = [
        f"K = {k}: {', '.join(map(seconds, values))} ({percent(max(values) / min(values) - 1)} apart)"
        for (k, n), values in sorted(found.items())
        if len(values) > 1 and n == points_by_k(bench)[0]["n"]
    ]
    if not said:
        return ""
    return (
        " The same work in several trainings of one process, those of the table and of the sweeps, shows how "
        f"far repeated measurements differ: {'; '.join(said)}."
    )


def _borrowed(by_n: Mapping[int, Points]) -> str:
    taken = [
        f"K = {k}, n = {count(point['n'])}"
        for k, points in by_n.items()
        for point in points
        if point["sweep"] != "n"
    ]
    return f" From the sweep over K: {'; '.join(taken)}." if taken else ""


def _flat(by_n: Mapping[int, Points]) -> str:
    """Up to which n an epoch takes less than twice that of the smallest n."""
    said = []
    for k, points in by_n.items():
        low = [point["n"] for point in points if point["seconds"] < 2 * points[0]["seconds"]]
        if max(low) > 2 * points[0]["n"]:
            said.append(
                f"at K = {k} up to n = {count(max(low))} ({times(max(low) / points[0]['n'])} as many)"
            )
    if not said:
        return ""
    return (
        f" An epoch takes less than twice the time of the smallest n {', '.join(said)}: there, what does not "
        "depend on n dominates, evaluation and presumably the host's work at the ends of epochs."
    )


def _falling(by_n: Mapping[int, Points]) -> str:
    said = [
        f"at K = {k} n = {count(less['n'])} takes {seconds(less['seconds'])} and n = {count(more['n'])} "
        f"{seconds(more['seconds'])}"
        for k, points in by_n.items()
        for less, more in pairwise(points)
        if less["seconds"] > more["seconds"]
    ]
    return (
        f" Fewer examples are not always faster: {'; '.join(said)}; why was not looked into." if said else ""
    )

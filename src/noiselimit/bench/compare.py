"""Two bench files side by side: the ratios of what both have measured."""

from collections.abc import Iterator, Mapping
from typing import Any

from noiselimit.bench.notices import told_notices

Content = Mapping[str, Any]
MEASURES = ("ratio", "set_up_seconds", "seconds")
DOUBTFUL = ("device", "threads", "quick", "precision", "kernels", "graphs")
"""Circumstances that should be the same on both sides, or a ratio is of more than the code."""
CIRCUMSTANCES = (*DOUBTFUL, "date", "commit", "changed", "versions", "finished")


def compare(first: Content, second: Content) -> dict[str, Any]:
    """Rows, sweep points and ceilings of both, each with A ÷ B: above 1, B takes less time or memory."""
    return {
        "a": {name: first.get(name) for name in CIRCUMSTANCES},
        "b": {name: second.get(name) for name in CIRCUMSTANCES},
        "notes": list(_notes(first, second)),
        "ceilings": list(_ceilings(first, second)),
        "rows": list(_rows(first, second)),
        "points": list(_points(first, second)),
    }


def _rows(first: Content, second: Content) -> Iterator[dict[str, Any]]:
    """Every row of either; no ratio where one of them lacks it or trained on another number of examples."""
    ours, theirs = ({row["row"]: row for row in content["rows"]} for content in (first, second))
    for name in dict.fromkeys([*ours, *theirs]):
        a, b = ours.get(name, {}), theirs.get(name, {})
        measure = measure_of(a or b) or measure_of(b)
        if measure is None:
            continue
        pair = _pair(a.get(measure), b.get(measure), same=a.get("n") == b.get("n"))
        yield {"row": name, "measure": measure, **pair, "k": [a.get("k"), b.get("k")]}


def measure_of(entry: Mapping[str, Any]) -> str | None:
    """What the row is about: a ratio or set-up where it has one, else seconds; None where it failed."""
    return next((name for name in MEASURES if entry.get(name) is not None), None)


def _points(first: Content, second: Content) -> Iterator[dict[str, Any]]:
    """The sweep points that both have."""
    theirs = {_place(point): point for point in second["points"] if "seconds" in point}
    for a in first["points"]:
        b = theirs.get(_place(a))
        if b is None or "seconds" not in a:
            continue
        sweep, k, n = _place(a)
        memory = _pair(a.get("peak_memory"), b.get("peak_memory"))
        yield {"sweep": sweep, "k": k, "n": n, **_pair(a["seconds"], b["seconds"]), "peak_memory": memory}


def _place(point: Mapping[str, Any]) -> tuple[str, int | None, int | None]:
    return point["sweep"], point.get("k"), point.get("n")


def _ceilings(first: Content, second: Content) -> Iterator[dict[str, Any]]:
    a, b = first.get("ceilings"), second.get("ceilings")
    if a and b:
        for name in ("tflop_per_s", "gb_per_s"):
            yield {"ceiling": name, **_pair(a.get(name), b.get(name))}


def _pair(a: float | None, b: float | None, *, same: bool = True) -> dict[str, float | None]:
    return {"a": a, "b": b, "ratio": a / b if same and a is not None and b else None}


def _notes(first: Content, second: Content) -> Iterator[str]:
    """What a reader should know before believing a ratio."""
    for name in DOUBTFUL:
        if first.get(name) != second.get(name):
            yield f"A and B differ in {name}: {first.get(name)} and {second.get(name)}."
    for letter, content in (("A", first), ("B", second)):
        if not content.get("finished"):
            yield f"{letter} was interrupted before its last measurement."
        failed = [entry for entry in [*content["rows"], *content["points"]] if entry.get("failure")]
        for entry in failed:
            yield f"{letter}: {entry.get('row') or entry.get('sweep')} failed ({entry['failure']})."
        for line in told_notices(content):
            yield f"{letter}: {line}"

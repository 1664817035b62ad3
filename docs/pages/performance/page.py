"""What docs/performance.md shows: its generated blocks and charts, from the files in results/.

A file that is not there yet leaves its section with one sentence that says so.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from noiselimit.bench.result import read_bench
from pages.folders import DOCS, RESULTS
from pages.performance import agreement, charts, growth, history, roofline, steps, tables, tiles

GPU, CPU = "bench-h200.json", "bench-cpu.json"
STEPS = tuple(f"bench-steps-{number}.json" for number in (1, 2, 3, 4))
BENCHES = (GPU, CPU, *STEPS)
OTHERS = (
    "precision.json",
    "precision-cpu.json",
    "history.json",
    "tried.json",
    "tiles.json",
    "compile.json",
)

Stored = dict[str, dict[str, Any]]
"""File name → its content; files that are not there are left out."""


def stored(folder: Path = RESULTS) -> Stored:
    """Everything that was measured so far; what is no such file is an error, not a gap."""
    found = {name: read_bench(folder / name) for name in BENCHES if (folder / name).exists()}
    for name in OTHERS:
        if (folder / name).exists():
            found[name] = json.loads((folder / name).read_text("utf-8"))
    return found


def blocks(results: Stored) -> dict[str, str]:
    """Name → the text between its markers."""

    def section(make: Callable[..., str], *names: str) -> str:
        missing = [name for name in names if name not in results]
        if missing:
            return f"Not measured yet: results/{', results/'.join(missing)}."
        return make(*(results[name] for name in names))

    return {
        "performance-table": section(tables.table, GPU),
        "performance-growth": section(growth.growth, GPU),
        "performance-counts": roofline.counts(),
        "performance-floors": section(roofline.floors, GPU),
        "performance-steps": section(lambda *benches: steps.table(benches), *STEPS),
        "performance-history": section(history.table, "history.json"),
        "performance-agreement": section(agreement.table, "precision.json"),
        "performance-agreement-cpu": section(agreement.table, "precision-cpu.json"),
        "performance-tried": section(steps.tried, "tried.json"),
        "performance-tiles": section(tiles.table, "tiles.json"),
        "performance-compile": section(steps.compiled, "compile.json"),
        "performance-cpu": section(tables.cpu, CPU),
    }


def drawn_charts(results: Stored) -> dict[str, str]:
    """File name → SVG, of the charts that there are values for."""
    return charts.charts(results[GPU]) if GPU in results else {}


def draw(results: Stored, folder: Path = DOCS) -> None:
    """Write the charts; one that nothing is known for any more does not stay behind."""
    drawn = drawn_charts(results)
    for name in charts.FILES.values():
        if name in drawn:
            (folder / name).write_text(drawn[name], "utf-8")
        else:
            (folder / name).unlink(missing_ok=True)

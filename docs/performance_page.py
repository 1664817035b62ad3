"""What docs/performance.md shows: its generated blocks and charts, from the files in results/.

A file that is not there yet leaves its section with one sentence that says so.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import performance_agreement
import performance_charts
import performance_growth
import performance_history
import performance_roofline
import performance_steps
import performance_tables
import performance_tiles

from noiselimit.bench.result import read_bench

DOCS = Path(__file__).resolve().parent
RESULTS = DOCS.parent / "results"
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
        "performance-table": section(performance_tables.table, GPU),
        "performance-growth": section(performance_growth.growth, GPU),
        "performance-counts": performance_roofline.counts(),
        "performance-floors": section(performance_roofline.floors, GPU),
        "performance-steps": section(lambda *steps: performance_steps.table(steps), *STEPS),
        "performance-history": section(performance_history.table, "history.json"),
        "performance-agreement": section(performance_agreement.table, "precision.json"),
        "performance-agreement-cpu": section(performance_agreement.table, "precision-cpu.json"),
        "performance-tried": section(performance_steps.tried, "tried.json"),
        "performance-tiles": section(performance_tiles.table, "tiles.json"),
        "performance-compile": section(performance_steps.compiled, "compile.json"),
        "performance-cpu": section(performance_tables.cpu, CPU),
    }


def charts(results: Stored) -> dict[str, str]:
    """File name → SVG, of the charts that there are values for."""
    return performance_charts.charts(results[GPU]) if GPU in results else {}


def draw(results: Stored, folder: Path = DOCS) -> None:
    """Write the charts; one that nothing is known for any more does not stay behind."""
    drawn = charts(results)
    for name in performance_charts.FILES.values():
        if name in drawn:
            (folder / name).write_text(drawn[name], "utf-8")
        else:
            (folder / name).unlink(missing_ok=True)

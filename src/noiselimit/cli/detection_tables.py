"""A comparison of who finds wrong labels as tables on stdout."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noiselimit.cli.console import say

if TYPE_CHECKING:
    from noiselimit.bench.detection.summary import Figure, Summary

NONE = "–"
COLUMNS = ("AUROC", "AUPRC", "F1", "noise rate\n− true one", "flagged", "seconds", "peak MB")


def print_detection(content: Mapping[str, Any], out: Path) -> None:
    """One table for every problem, and what failed."""
    from noiselimit.bench.detection.summary import summarise

    say(f"{content['device']}, {content['threads']} threads")
    for summary in summarise(content["rows"]):
        _print(summary)
    for row in content["rows"]:
        for training, reason in row["failures"].items():
            say(f"{training} of {row['problem']['data']}, {row['problem']['noise']} failed: {reason}")
    if content["quick"]:
        say("Measured with --quick: the sizes are small, so these are no figures to quote.")
    print(f"Everything measured is in {out}")


def _print(summary: "Summary") -> None:
    from rich.box import SIMPLE
    from rich.table import Table

    first = summary.rows[0]
    seeds = ", ".join(map(str, summary.seeds))
    say(
        f"{summary.data}, {summary.noise}: {first['n']} examples, {first['wrong']:.1%} wrong labels, "
        f"{first['training']['epochs']} epochs of {first['training']['network']}, seeds {seeds}"
    )
    table = Table(box=SIMPLE, pad_edge=False, show_edge=False)
    table.add_column("")
    for column in COLUMNS:
        table.add_column(column, justify="right")
    for method, found in summary.methods.items():
        cells = [_share(found.get(name)) for name in ("auroc", "auprc", "f1", "noise_rate_error", "flagged")]
        seconds, memory = found["seconds"], found.get("peak_memory")
        cells += [f"{seconds.mean:.1f}", NONE if memory is None else f"{memory.mean / 1e6:.0f}"]
        table.add_row(method, *cells)
    say(table)


def _share(figure: "Figure | None") -> str:
    if figure is None:
        return NONE
    spread = f" ± {figure.deviation:.4f}" if figure.deviation else ""
    return f"{figure.mean:.4f}{spread}"

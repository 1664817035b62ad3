"""A bench, or two side by side, as tables on stdout."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noiselimit.bench.notices import entry_name, told_notices
from noiselimit.cli.console import say

if TYPE_CHECKING:
    from rich.table import Table

NONE = "–"
CHANGED = {True: ", changed", False: "", None: ", not checked"}
"""Whether the source was that of the commit; None where the commit was named by hand."""
ROW_COLUMNS = (
    "K",
    "n",
    "s per run\nand epoch",
    "run-epochs\nper s",
    "TFLOP/s",
    "of\nceiling",
    "GB/s*",
    "of\nceiling",
    "set-up s\nor ratio",
    "author's\ncode",
    "aim",
)


def print_bench(content: Mapping[str, Any], out: Path) -> None:
    """The rows, the points of sweeps if there are any, and what the shares are shares of."""
    say(f"{content['device']}, {_state(content)}")
    if content["rows"]:
        say(_rows(content))
    if content["points"]:
        say(_points(content))
    for entry in [*content["rows"], *content["points"]]:
        if "failure" in entry:
            say(f"{entry_name(entry)} failed: {entry['failure']}")
    for line in told_notices(content):
        say(line)
    ceilings = content["ceilings"]
    say(
        f"Ceilings measured here: {ceilings['tflop_per_s']:.3g} TFLOP/s ({ceilings['precision']} matrix "
        f"product), {ceilings['gb_per_s']:.4g} GB/s (copy)."
    )
    if any("gb_per_s" in entry for entry in [*content["rows"], *content["points"]]):
        say("* What the counted bytes come to: modelled, not measured by a counter.")
    if content["quick"]:
        say("Measured with --quick: the sizes are small, so these are no figures to quote.")
    print(f"Everything measured is in {out}")


def print_comparison(compared: Mapping[str, Any], first: Path, second: Path) -> None:
    """A, B and A ÷ B."""
    for letter, path, side in (("A", first, compared["a"]), ("B", second, compared["b"])):
        say(f"{letter}: {path}, {side['device']}, {_state(side)}")
    table = _table("", "A", "B", "A ÷ B")
    for ceiling in compared["ceilings"]:
        _add(table, f"ceiling, {'TFLOP/s' if ceiling['ceiling'] == 'tflop_per_s' else 'GB/s'}", ceiling)
    units = {"seconds": "s per run and epoch", "set_up_seconds": "s", "ratio": "ratio"}
    for row in compared["rows"]:
        _add(table, f"{row['row']}{_other_k(row['k'])}, {units[row['measure']]}", row)
    for point in compared["points"]:
        label = f"sweep {point['sweep']}, K = {point['k']}, n = {point['n']}"
        _add(table, f"{label}, s per run and epoch", point)
        if point["peak_memory"]["a"] is not None:
            _add(table, f"{label}, peak bytes", point["peak_memory"])
    say(table, *compared["notes"])


def _other_k(sizes: Sequence[float | None]) -> str:
    """Which K either side has, where both have one and they differ."""
    a, b = sizes
    return "" if a is None or b is None or a == b else f", K = {a} against {b}"


def _rows(content: Mapping[str, Any]) -> "Table":
    table = _table("row", *ROW_COLUMNS)
    for row in content["rows"]:
        other = row.get("ratio", row.get("set_up_seconds"))
        held = other if other is not None else row.get("seconds")
        table.add_row(row["row"], *_measured(row), number(other), number(row.get("author")), _aim(row, held))
    return table


def _points(content: Mapping[str, Any]) -> "Table":
    table = _table("sweep", *ROW_COLUMNS[:8], "peak\nmemory", "parts")
    for point in content["points"]:
        memory = point.get("peak_memory")
        cells = (NONE if memory is None else f"{memory / 1e9:.3g} GB", str(point.get("parts", NONE)))
        table.add_row(point["sweep"], *_measured(point), *cells)
    return table


def _measured(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(entry.get("k") or NONE),
        str(entry.get("n") or NONE),
        number(entry.get("seconds")),
        number(entry.get("run_epochs_per_second")),
        number(entry.get("tflop_per_s")),
        _percent(entry.get("share_of_tflop")),
        number(entry.get("gb_per_s")),
        _percent(entry.get("share_of_gb")),
    )


def _aim(row: Mapping[str, Any], held: float | None) -> str:
    aim = row.get("aim")
    if aim is None or held is None:
        return NONE
    return f"≤ {number(aim)} {'✓' if held <= aim else '✗'}"


def number(value: float | None) -> str:
    """Three digits that count, without an exponent."""
    if value is None:
        return NONE
    return f"{value:.0f}" if abs(value) >= 1000 else f"{float(f'{value:.3g}'):.6f}".rstrip("0").rstrip(".")


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:.1f} %"


def _state(content: Mapping[str, Any]) -> str:
    versions = content.get("versions") or {}
    commit = content.get("commit")
    said = f"commit {commit[:10]}{CHANGED[content.get('changed')]}" if commit else "no commit"
    return f"{said}, torch {versions.get('torch', NONE)}, {content.get('date', NONE)}"


def _table(first: str, *others: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table


def _add(table: "Table", label: str, pair: Mapping[str, Any]) -> None:
    table.add_row(label, *(number(pair[name]) for name in ("a", "b", "ratio")))

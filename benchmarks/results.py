"""The JSON files of measurements: facts they begin with, reading, writing, printing, comparing."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from noiselimit.errors import InputError
from noiselimit.files import make_folder, write_json
from noiselimit.training import environment as run_environment

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
SPEED, DETECTION = "noiselimit bench", "noiselimit bench detection"
SCHEMA = 1
SAME = ("device", "threads", "quick", "precision", "kernels", "graphs", "network", "epochs", "plans")
"""Settings that two compared files should share; otherwise a ratio is of more than the code."""
FIGURES = ("auroc", "auprc", "f1", "noise_rate_error", "flagged", "seconds", "peak_memory")
Content = dict[str, Any]


def environment(device: torch.device) -> Content:
    """Device, versions and the state of the source."""
    commit, changed = source_state()
    return {**run_environment(device), "commit": commit, "changed": changed}


def now() -> str:
    """The date and time of a measurement."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def source_state() -> tuple[str | None, bool | None]:
    """The commit, and whether src/ or benchmarks/ differ from it; None where git cannot tell.

    To measure a copy without its history, name the commit in the variable NOISELIMIT_COMMIT.
    """
    if named := os.environ.get("NOISELIMIT_COMMIT"):
        return named, None
    try:
        commit, changes = (
            subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True).stdout
            for command in (["rev-parse", "HEAD"], ["status", "--porcelain", "--", "src", "benchmarks"])
        )
    except (OSError, subprocess.CalledProcessError):
        return None, None
    return commit.strip(), bool(changes.strip())


def read_results(path: Path, kinds: Sequence[str] = (SPEED, DETECTION)) -> Content:
    """Read a file written by `speed` or `detection`."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path} ({type(error).__name__}): name a results file.") from None
    if not isinstance(content, dict) or content.get("kind") not in kinds or content.get("schema") != SCHEMA:
        wanted = " or ".join(repr(kind) for kind in kinds)
        raise InputError(f"{path} is not a results file of kind {wanted}: name another one.")
    return content


def check_target(path: Path, kind: str, *, quick: bool) -> None:
    """Raise before measuring if `path` cannot be written or holds something that should be kept."""
    if path.exists():
        older = read_results(path, [kind])
        if quick and not older["quick"]:
            raise InputError(f"{path} holds a full measurement: name another file with --out.")
    make_folder(path.parent)


def save(path: Path, content: Any) -> None:
    """Write a results file and say where it is."""
    write_json(path, content)
    print(f"Results are in {path}")


def print_results(content: Content) -> None:
    """Print a file of either kind as tables."""
    versions = content["versions"]
    print(f"{content['device']}, torch {versions['torch']}, commit {content.get('commit') or 'by row'}")
    if content["kind"] == SPEED:
        _print_speed(content)
    else:
        _print_detection(content)
    if content["quick"]:
        print("Measured with --quick: small sizes, not figures to quote.")
    if not content["finished"]:
        print("The measurement was interrupted: rows are missing.")


def _print_speed(content: Content) -> None:
    columns = ["row", "K", "n", "s per run and epoch", "TFLOP/s", "of ceiling", "GB/s*", "of ceiling"]
    rows = []
    for entry in [*content["rows"], *content["points"]]:
        shown = [entry.get(name) for name in ("seconds", "tflop_per_s", "share_of_tflop", "gb_per_s")]
        other = entry.get("ratio", entry.get("set_up_seconds"))
        cells = [*shown, entry.get("share_of_gb"), other, entry.get("author"), entry.get("aim")]
        memory = (entry.get("peak_memory") or 0) / 1e9 or None
        counts = [str(entry.get(name) or "–") for name in ("k", "n")]
        rows.append([_entry_name(entry), *counts, *(_number(cell) for cell in [*cells, memory])])
    _print_table([*columns, "ratio or set-up s", "author's code", "aim", "peak GB"], rows)
    for line in _remarks(content):
        print(line)
    ceilings = content["ceilings"]
    print(
        f"Ceilings: {ceilings['tflop_per_s']:.3g} TFLOP/s ({ceilings['precision']} matrix product), "
        f"{ceilings['gb_per_s']:.4g} GB/s (copy). * Counted from the layers, not measured."
    )


def _entry_name(entry: Mapping[str, Any]) -> str:
    return str(entry.get("row") or f"sweep {entry.get('sweep')}")


def _remarks(content: Content) -> Iterator[str]:
    """Failures and notices of a speed file, each text once."""
    entries = [*content["rows"], *content["points"]]
    texts = [(entry, f"failed: {entry['failure']}") for entry in entries if entry.get("failure")]
    for entry in entries:
        for each in [entry, *entry.get("tried", [])]:
            texts += [(entry, text) for text in each.get("notices", [])]
    yield from dict.fromkeys(f"{_entry_name(entry)}: {text}" for entry, text in texts)


def _print_detection(content: Content) -> None:
    for (data, noise, n), methods in summarise(content["rows"]).items():
        print(f"\n{data}, {noise}, n = {n}")
        rows = []
        for method, figures in methods.items():
            found = {name: figures.get(name, []) for name in FIGURES}
            found["peak_memory"] = [value / 1e6 for value in found["peak_memory"]]
            rows.append([method, *map(_spread, found.values())])
        _print_table(["method", *FIGURES[:-1], "peak MB"], rows)
    for row in content["rows"]:
        for training, reason in row["failures"].items():
            print(f"{training} of {row['problem']} failed: {reason}")


def summarise(
    rows: Sequence[Mapping[str, Any]],
) -> dict[tuple[str, str, int], dict[str, dict[str, list[float]]]]:
    """(data, noise, n) → method → figure → its values, one per seed."""
    found: dict[tuple[str, str, int], dict[str, dict[str, list[float]]]] = {}
    for row in rows:
        methods = found.setdefault((row["problem"]["data"], row["problem"]["noise"], row["n"]), {})
        for method, entry in row["methods"].items():
            figures = methods.setdefault(method, {})
            for name, value in {**entry, **_cost(row, method)}.items():
                if name in FIGURES and value is not None:
                    figures.setdefault(name, []).append(value)
    return found


TRAININGS_OF = {
    "cleanlab": ("folds",),
    "folds-averaged": ("folds",),
    "aum-last": ("margins",),
    "aum-stopped": ("margins", "plain"),
    "ce-loss": ("plain",),
    "ours-default": ("default",),
    "ours-fast": ("fast",),
}
"""Method, or how its name begins → the trainings it needs, whose seconds add up."""


def trainings_of(method: str) -> tuple[str, ...]:
    """The trainings that a method needs."""
    return next(needed for name, needed in TRAININGS_OF.items() if method.startswith(name))


def _cost(row: Mapping[str, Any], method: str) -> dict[str, float | None]:
    """Seconds of all trainings that the method needs, and the highest peak memory of any."""
    needed = [row["trainings"][name] for name in trainings_of(method)]
    memory = [each["peak_memory"] for each in needed if each["peak_memory"] is not None]
    return {"seconds": sum(each["seconds"] for each in needed), "peak_memory": max(memory, default=None)}


def compare(first: Content, second: Content) -> Content:
    """What both files measured, each with A ÷ B, and what to know before believing a ratio."""
    if first["kind"] != second["kind"]:
        raise InputError("the two files measure different things: compare files of one kind.")
    notes = [
        f"A and B differ in {name}." for name in SAME if name in first and first[name] != second.get(name)
    ]
    notes += [f"{letter} is incomplete." for letter, x in (("A", first), ("B", second)) if not x["finished"]]
    values = (
        _speed_values
        if first["kind"] == SPEED
        else partial(_detection_values, shared_problems(first, second))
    )
    ours, theirs = dict(values(first)), dict(values(second))
    rows = [
        {"name": name, "a": a, "b": theirs[name], "ratio": a / theirs[name] if theirs[name] else None}
        for name, a in ours.items()
        if name in theirs
    ]
    return {"notes": notes, "rows": rows}


def _speed_values(content: Content) -> Iterator[tuple[str, float]]:
    for name in ("tflop_per_s", "gb_per_s"):
        yield f"ceiling {name}", content["ceilings"][name]
    for entry in content["rows"]:
        for name in ("ratio", "set_up_seconds", "seconds"):  # a row is about the first that it has
            if entry.get(name) is not None:
                yield f"{entry['row']}, n = {entry.get('n')}, {name}", entry[name]
                break
    for entry in content["points"]:
        for name in ("seconds", "peak_memory"):
            if entry.get(name) is not None:
                yield f"sweep {entry['sweep']}, K = {entry['k']}, n = {entry['n']}, {name}", entry[name]


def shared_problems(first: Content, second: Content) -> list[Content]:
    """The problems, seeds included, that two detection files share."""
    theirs = [row["problem"] for row in second["rows"]]
    return [row["problem"] for row in first["rows"] if row["problem"] in theirs]


def _detection_values(shared: list[Content], content: Content) -> Iterator[tuple[str, float]]:
    rows = [row for row in content["rows"] if row["problem"] in shared]
    for problem, methods in summarise(rows).items():
        for method, figures in methods.items():
            for name, values in figures.items():
                yield f"{', '.join(map(str, problem))}: {method}, {name}", fmean(values)


def print_comparison(compared: Content) -> None:
    """Print A, B and A ÷ B."""
    rows = [[row["name"], *(_number(row[name]) for name in ("a", "b", "ratio"))] for row in compared["rows"]]
    _print_table(["", "A", "B", "A ÷ B"], rows)
    for note in compared["notes"]:
        print(note)


def _number(value: float | None) -> str:
    """Three significant digits, without an exponent."""
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{float(f'{value:.3g}'):.6f}".rstrip("0").rstrip(".")


def _spread(values: Sequence[float]) -> str:
    """Mean ± standard deviation over seeds."""
    if not values:
        return "–"
    spread = f" ± {stdev(values):.4f}" if len(values) > 1 else ""
    return f"{fmean(values):.4f}{spread}"


def _print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(box=None, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right", no_wrap=number == 0)
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else 200
    Console(highlight=False, markup=False, width=width).print(table)

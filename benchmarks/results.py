"""Results files: JSON with the device, the versions and the commit; reading, printing, comparing."""

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from noiselimit.errors import InputError
from noiselimit.training import environment as run_environment

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
SPEED, DETECTION = "noiselimit bench", "noiselimit bench detection"
SCHEMA = 1
SAME = ("device", "threads", "quick", "precision", "kernels", "graphs", "network", "epochs", "plans")
"""Settings that two compared files should share; otherwise a ratio is of more than the code."""
Content = dict[str, Any]
SPEED_COLUMNS = ("name", "k", "n", "seconds", "ratio", "share_of_tflop", "share_of_gb", "peak_memory", "aim")


def environment(device: torch.device) -> Content:
    """Device, versions, commit (None if unknown), whether files differ from it, and the date.

    To measure a copy without git history, set the variable NOISELIMIT_COMMIT.
    """
    commit, changed = os.environ.get("NOISELIMIT_COMMIT"), None
    if commit is None and (ROOT / ".git").exists():
        commit = _git("rev-parse", "HEAD")
        changed = bool(_git("status", "--porcelain", "--", "src", "benchmarks"))
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return {**run_environment(device), "commit": commit, "changed": changed, "date": date}


def _git(*command: str) -> str:
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def read_results(path: Path, kinds: tuple[str, ...] = (SPEED, DETECTION)) -> Content:
    """Read a file written by `speed` or `detection`."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path} ({type(error).__name__}): name a results file.") from None
    if not isinstance(content, dict) or content.get("kind") not in kinds or content.get("schema") != SCHEMA:
        raise InputError(f"{path} is not a results file of kind {' or '.join(kinds)}: name another one.")
    return content


def speed_table(content: Content) -> pd.DataFrame:
    """One line for each row and point of a sweep; memory in GB."""
    entries = [*content["rows"], *content["points"]]
    table = pd.DataFrame([{"name": e.get("row") or f"sweep {e['sweep']}", **e} for e in entries])
    table["peak_memory"] = table.get("peak_memory", pd.Series(dtype=float)).astype(float) / 1e9
    return table.reindex(columns=SPEED_COLUMNS)


def detection_table(content: Content) -> pd.DataFrame:
    """One line for each problem, seed and method; `seconds` are those of all trainings that it needs."""
    lines = []
    for row in content["rows"]:
        for method, figures in row["methods"].items():
            needed = [row["trainings"][name] for name in trainings_of(method)]
            # Other work may share a CPU: there the processor's time counts.
            clock = "seconds" if content["device_type"] == "cuda" else "cpu_seconds"
            seconds = sum(each[clock] for each in needed)
            facts = {**row["problem"], "n": row["n"], "wrong": row["wrong"], "method": method}
            lines.append({**facts, **figures, "seconds": seconds})
    return pd.DataFrame(lines)


TRAININGS_OF = {
    "cleanlab": ("folds",),
    "folds-averaged": ("folds",),
    "aum-last": ("margins",),
    "aum-stopped": ("margins", "plain"),
    "ce-loss": ("plain",),
    "ours-default": ("default",),
    "ours-fast": ("fast",),
}
"""Method, or how its name begins → the trainings it needs."""


def trainings_of(method: str) -> tuple[str, ...]:
    """The trainings that a method needs."""
    return next(needed for name, needed in TRAININGS_OF.items() if method.startswith(name))


def print_results(content: Content) -> None:
    """Print a file of either kind as a table."""
    versions = content["versions"]
    print(f"{content['device']}, torch {versions['torch']}, commit {content.get('commit') or 'by row'}")
    if content["kind"] == SPEED:
        print(speed_table(content).to_string(index=False, na_rep="–", float_format="{:.4g}".format))
        for entry in [*content["rows"], *content["points"]]:
            for text in [*entry.get("notices", []), *([entry["failure"]] if "failure" in entry else [])]:
                print(f"{entry.get('row') or entry['sweep']}: {text}")
    else:
        names = ["auroc", "auprc", "f1", "noise_rate_error", "flagged", "seconds"]
        table = detection_table(content).reindex(columns=["data", "noise", "n", "method", *names])
        means = table.groupby(["data", "noise", "n", "method"], sort=False).mean()
        print(means.to_string(na_rep="–", float_format="{:.4f}".format))
        for row in content["rows"]:
            for training, reason in row["failures"].items():
                print(f"{training} of {row['problem']} failed: {reason}")
    if content["quick"]:
        print("Measured with --quick: small sizes, not figures to quote.")
    if not content["finished"]:
        print("The measurement was interrupted: rows are missing.")


def compare(first: Content, second: Content) -> tuple[pd.DataFrame, list[str]]:
    """What both files measured, with A ÷ B, and what to know before believing a ratio."""
    if first["kind"] != second["kind"]:
        raise InputError("the two files measure different things: compare files of one kind.")
    notes = [f"A and B differ in {name}." for name in SAME if first.get(name) != second.get(name)]
    notes += [f"{letter} is incomplete." for letter, x in (("A", first), ("B", second)) if not x["finished"]]
    if first["kind"] == SPEED:
        keys, values = ["name", "k", "n"], ["seconds", "ratio", "peak_memory"]
        a, b = (speed_table(content) for content in (first, second))
    else:
        keys, values = ["data", "noise", "n", "seed", "method"], ["auroc", "auprc", "f1", "seconds"]
        a, b = (detection_table(content) for content in (first, second))
    long = [each.melt(keys, values, "measure", letter).dropna() for each, letter in ((a, "A"), (b, "B"))]
    table = long[0].merge(long[1], on=[*keys, "measure"])
    return table.assign(ratio=table["A"] / table["B"]), notes

"""Results files, JSON with the device, the versions and the commit, and options that commands share."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import torch
import typer

from noiselimit.errors import InputError
from noiselimit.training import environment as run_environment
from paper.rows import commit

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
SPEED, DETECTION = "noiselimit bench", "noiselimit bench detection"
Content = dict[str, Any]
Device = Annotated[str, typer.Option(metavar="NAME", help="Device to train on: auto, cpu or cuda.")]
Threads = Annotated[int | None, typer.Option(metavar="N", min=1, help="CPU threads. Default: all cores.")]
DataDir = Annotated[Path | None, typer.Option(metavar="FOLDER", help="Folder of data sets such as mnist.")]
Quick = Annotated[bool, typer.Option("--quick", help="Use small sizes, only to see that it works.")]
MODELS = {
    "last": ("folds", "network, last epoch"),
    "stopped": ("folds", "network"),
    "logistic": ("logistic", "logistic regression"),
    "forest": ("forest", "random forest"),
    "boosting": ("boosting", "gradient boosting"),
}
"""What cleanlab's probabilities are made of → the training that makes them, and its name."""
SCORES = {"self-confidence": "", "normalized-margin": ", margin", "adjusted-margin": ", adjusted margin"}
METHODS: dict[str, tuple[str, tuple[str, ...]]] = {
    **{
        f"cleanlab-{score}-{model}": (f"cleanlab, {name}{title}", (training,))
        for model, (training, name) in MODELS.items()
        for score, title in SCORES.items()
    },
    "neighbours": ("vote of neighbours", ("neighbours",)),
    "aum-last": ("AUM", ("margins",)),
    "aum-stopped": ("AUM, stopped", ("margins", "plain")),
    "ce-loss-last": ("CE loss", ("plain",)),
    "ce-loss-stopped": ("CE loss, stopped", ("plain",)),
    "folds-averaged": ("label model, cross-validated", ("folds",)),
    "ours-default": ("noiselimit audit", ("default",)),
    "ours-fast": ("noiselimit audit --fast", ("fast",)),
}
"""Method of detection → its name in tables, and the trainings it needs. `folds-averaged` is no tool: it is
our label model on cross-validated probabilities of the network alone."""
TITLES = {name: title for name, (title, _) in METHODS.items()}
SPEED_COLUMNS = ("name", "k", "n", "seconds", "ratio", "share_of_tflop", "share_of_gb", "peak_memory", "aim")


def environment(device: torch.device) -> Content:
    """Device, versions, commit and date."""
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return {**run_environment(device), "commit": commit(), "date": date}


def read_results(path: Path) -> Content:
    """Read a file written by `speed` or `detection`."""
    try:
        content = json.loads(path.read_text("utf-8"))
        if content["kind"] not in (SPEED, DETECTION):
            raise KeyError(content["kind"])
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check the path.") from None
    except (ValueError, TypeError, KeyError):
        raise InputError(f"{path} is not a results file: name one that speed or detection wrote.") from None
    return dict(content)


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
            needed = [row["trainings"][name] for name in METHODS[method][1]]
            # Other work may share a CPU: there the processor's time counts.
            clock = "seconds" if content["device_type"] == "cuda" else "cpu_seconds"
            seconds = sum(each[clock] for each in needed)
            facts = {**row["problem"], "n": row["n"], "wrong": row["wrong"], "method": method}
            lines.append({**facts, **figures, "seconds": seconds})
    return pd.DataFrame(lines)


def print_results(content: Content) -> None:
    """Print a file of either kind as a table."""
    versions = content["versions"]
    print(f"{content['device']}, torch {versions['torch']}, commit {content.get('commit') or 'by row'}")
    if content["kind"] == SPEED:
        print(speed_table(content).to_string(index=False, na_rep="–", float_format="{:.4g}".format))
        notes = [
            (
                entry.get("row") or f"sweep {entry['sweep']}",
                entry.get("failure") or "; ".join(entry.get("notices", ())),
            )
            for entry in [*content["rows"], *content["points"]]
        ]
    else:
        names = ["auroc", "auprc", "f1", "noise_rate_error", "flagged", "seconds"]
        table = detection_table(content).reindex(columns=["data", "noise", "n", "method", *names])
        table["method"] = table["method"].map(TITLES)
        means = table.groupby(["data", "noise", "n", "method"], sort=False).mean()
        print(means.to_string(na_rep="–", float_format="{:.4f}".format))
        notes = [
            (", ".join(map(str, row["problem"].values())), "; ".join(map(": ".join, row["failures"].items())))
            for row in content["rows"]
        ]
    for name, note in notes:
        if note:
            print(f"{name}: {note}")
    if content["quick"]:
        print("Measured with --quick: small sizes, not figures to quote.")
    if not content["finished"]:
        print("The measurement was interrupted: rows are missing.")

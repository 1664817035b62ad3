"""Runs as a table on stdout."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from noiselimit.cli.console import fits, say

if TYPE_CHECKING:
    from rich.table import Table

    from noiselimit.runs import Run

HYPER_NAMES = {"beta": "β", "sigma": "σ"}
NO_SETTING = {"schema", "method", "hyper", "seed"}  # in every table anyway, or of no interest in one
NUMBERS = (  # headers narrow enough for a terminal of 80 columns
    "best\nepoch",
    "noisy\nvalid.",
    "test at\nbest",
    "test at\nlast",
    "wrong\nlabels\nmemorised",
    "gap\nROC\nAUC",
)
NONE = "–"


def print_runs(runs: Sequence["Run"], *, folders: bool = True) -> None:
    """One line per run; a star marks those that validation chose.

    Folders are in the table where there is room, else listed below: a folded name cannot be copied.
    """
    table = _table(runs, folders=folders)
    if not folders or fits(table):
        say(table)
    else:
        say(_table(runs, folders=False), "folders, in the same order:", *(str(run.path) for run in runs))


def _table(runs: Sequence["Run"], *, folders: bool) -> "Table":
    from rich.table import Table

    from noiselimit.runs import choose

    described = [describe(run) for run in runs]
    settings = _differing(described)
    hyper = list(dict.fromkeys(name for run in runs for name in run.spec.hyper))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("  method")
    names = [HYPER_NAMES.get(name, name) for name in hyper] + [name.replace("_", "\n") for name in settings]
    for name in (*names, "seed", *NUMBERS):
        table.add_column(name, justify="right")
    if folders:
        table.add_column("folder")
    for run, values, chosen in zip(runs, described, choose(runs), strict=True):
        metrics = run.metrics
        cells = [
            f"{'★' if chosen else ' '} {run.spec.method}",
            *(readable(run.spec.hyper.get(name)) for name in hyper),
            *(readable(values[name]) for name in settings),
            str(run.spec.seed),
            "failed" if run.failed else str(metrics["best_epoch"]),
            percent(metrics["validation_accuracy"]),
            percent(metrics["test_accuracy"]),
            percent(metrics["last_test_accuracy"]),
            percent(metrics["memorised_wrong_labels"]),
            NONE if metrics["gap_auc"] is None else f"{metrics['gap_auc']:.4f}",
        ]
        if folders:
            cells.append(str(run.path))
        table.add_row(*cells, style="bold" if chosen else "")
    return table


def describe(run: "Run") -> dict[str, Any]:
    """The run's spec for reading, with the name of the data in place of their fingerprint."""
    return {**run.spec.to_json(), "data": run.data.name}


def _differing(described: Sequence[Mapping[str, Any]]) -> list[str]:
    """The settings that tell these runs apart, beside method, hyper-parameters and seed."""
    names = [name for name in described[0] if name not in NO_SETTING]
    return [name for name in names if any(values[name] != described[0][name] for values in described)]


def readable(value: Any) -> str:
    """A value of a spec or of the metrics as people write it."""
    if value is None:
        return NONE
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {readable(inner)}" for key, inner in value.items()) or "none"
    if isinstance(value, list):
        return f"{len(value)} × {len(value)}"  # of a noise, the one thing in a spec that is a matrix
    return str(value)


def percent(share: float | None) -> str:
    """A share in [0, 1] for reading."""
    return NONE if share is None else f"{100 * share:.1f} %"

"""Tables on stdout."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noiselimit.runs import Run

HYPER_NAMES = {"beta": "β", "sigma": "σ"}


def print_runs(runs: Sequence["Run"], *, folders: bool = True) -> None:
    """One line per run; a star marks those that validation chose."""
    from rich.console import Console
    from rich.table import Table

    from noiselimit.runs import choose

    hyper = list(dict.fromkeys(name for run in runs for name in run.spec.hyper))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    table.add_column("method")
    for name in hyper:
        table.add_column(HYPER_NAMES.get(name, name), justify="right")
    numbers = ("seed", "best\nepoch", "noisy\nvalidation", "test at\nbest", "test at\nlast")
    for name in (*numbers, "wrong labels\nmemorised", "gap\nROC AUC"):
        table.add_column(name, justify="right")
    if folders:
        table.add_column("folder", overflow="fold")
    for run, chosen in zip(runs, choose(runs), strict=True):
        metrics = run.metrics
        cells = [
            "★" if chosen else "",
            run.spec.method,
            *(f"{run.spec.hyper[name]:g}" if name in run.spec.hyper else "–" for name in hyper),
            str(run.spec.seed),
            str(metrics["best_epoch"]) if not run.failed else "failed",
            percent(metrics["validation_accuracy"]),
            percent(metrics["test_accuracy"]),
            percent(metrics["last_test_accuracy"]),
            percent(metrics["memorised_wrong_labels"]),
            "–" if metrics["gap_auc"] is None else f"{metrics['gap_auc']:.4f}",
        ]
        if folders:
            cells.append(str(run.path) if run.path else "")
        table.add_row(*cells, style="bold" if chosen else "")
    width = None if Console().is_terminal else 160  # a pipe has no width of its own
    Console(width=width, highlight=False).print(table)


def percent(share: float | None) -> str:
    """A share in [0, 1] for reading."""
    return "–" if share is None else f"{100 * share:.1f} %"

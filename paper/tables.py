"""The paper's tables: its 228 numbers as cells, and our result for each cell."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import sqrt
from pathlib import Path
from typing import Any

import pandas as pd

from noiselimit.errors import unknown
from paper.protocol import Cell, Protocol, Task, make_tasks, protocol_for
from paper.rows import current, is_exhausted, read_rows, rows_path

TITLES = {
    "mnist": "MNIST with uniform noise (tab:mnist)",
    "cifar10": "CIFAR-10 with uniform and pair noise (tab:joint-table)",
    "cifar100": "CIFAR-100 with uniform noise (tab:joint-table)",
    "clothing1m": "Clothing1M (tab:joint-table)",
}
NAMES = {
    "ce": "CE",
    "ce-gn": "CE + GN",
    "ce-ln": "CE + LN",
    "mae": "MAE",
    "fw": "FW",
    "dmi": "DMI",
    "soft-penalty": "soft penalty",
    "limit-g+s": "LIMIT-G + S",
    "limit-l+s": "LIMIT-L + S",
    "limit-g": "LIMIT-G − S",
    "limit-l": "LIMIT-L − S",
    "limit-g+init": "LIMIT-G + init",
    "limit-l+init": "LIMIT-L + init",
}
"""Method → its name in the paper."""
PAPER_SEEDS = 5
MARGIN = 0.1
"""Per cent, for the rounding of the paper's numbers."""


def _read_paper() -> dict[Cell, tuple[float, float]]:
    found = {}
    with Path(__file__).with_name("paper_tables.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            p, n = float(row["p"]) if row["p"] else None, int(row["n"]) if row["n"] else None
            cell = Cell(row["dataset"], row["noise"], p, n, row["method"])
            found[cell] = float(row["accuracy"]), float(row["std"])
    return found


PAPER: Mapping[Cell, tuple[float, float]] = _read_paper()
"""Cell → test accuracy and standard deviation in per cent, as printed, in the paper's order."""
TABLES: Mapping[str, tuple[Cell, ...]] = {
    name: tuple(cell for cell in PAPER if cell.data == name) for name in TITLES
}


def choose_cells(
    table: str, methods: Sequence[str] | None = None, problems: Sequence[str] | None = None
) -> list[Cell]:
    """The cells of these methods on these problems, such as uniform:0.8/10000, uniform:0.8 or uniform."""
    cells = TABLES[table]
    _check("method of this table", methods or (), [cell.method for cell in cells])
    _check("cell of this table", problems or (), [part for cell in cells for part in _problem_parts(cell)])
    return [
        cell
        for cell in cells
        if (methods is None or cell.method in methods)
        and (problems is None or set(_problem_parts(cell)) & set(problems))
    ]


def _check(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    known = dict.fromkeys(known)
    for name in given:
        if name not in known:
            raise unknown(what, name, known)


def _problem_parts(cell: Cell) -> tuple[str, str, str]:
    """What may name a cell: noise, noise and share, or the whole problem."""
    return cell.noise, cell.problem.partition("/")[0], cell.problem


def table_tasks(cells: Iterable[Cell], seeds: Sequence[int], protocol: Protocol) -> list[Task]:
    """Every run that the cells take, each once."""
    found: dict[tuple[str, int], tuple[int, Task]] = {}
    for cell, seed in product(cells, seeds):
        for value, task in enumerate(make_tasks(cell, [seed], protocol)):
            found.setdefault((task.setting, seed), (value, task))
    numbered = list(found.values())
    if protocol.kind != "full":
        numbered.sort(key=lambda each: _order(*each))
    return [task for _, task in numbered]


def _order(value: int, task: Task) -> tuple[bool, float, int, bool, float]:
    """A short protocol may end unfinished: 40 % noise comes first, with the first value of each grid."""
    share = task.cell.p or 0.0
    return value > 1, round(abs(share - 0.4), 1), value, task.cell.noise == "pair", share


def with_values(tasks: Sequence[Task], values: Sequence[str]) -> list[Task]:
    """The tasks that have one of these values, such as 'beta=30', of each hyper-parameter that is named."""
    _check("value of these grids", values, [value for task in tasks for value in task.hyper.split()])
    named = {value.partition("=")[0] for value in values}
    return [
        task
        for task in tasks
        if all(value in values or value.partition("=")[0] not in named for value in task.hyper.split())
    ]


def rank_values(rows: pd.DataFrame) -> list[str]:
    """The values of one cell's grid, the best first.

    Values are ranked by mean noisy-validation accuracy, then loss, over seeds that all of them have: as many
    values as possible, then as many seeds. A value with a run that failed in its first epoch is left out if
    there are others.
    """
    usable = rows[rows["test_accuracy"].notna()]
    if usable.empty:
        return []
    failed = rows["hyper"][rows["test_accuracy"].isna()]
    sound = usable[~usable["hyper"].isin(failed)]
    sound = usable if sound.empty else sound
    seeds_of = {value: set(own["seed"]) for value, own in sound.groupby("hyper", sort=False)}
    holders = {
        seed: [value for value in seeds_of if seed in seeds_of[value]] for seed in sound["seed"].unique()
    }
    most = max(map(len, holders.values()))
    shared = [
        sorted(set[int].intersection(*(seeds_of[value] for value in values)))
        for values in holders.values()
        if len(values) == most
    ]
    seeds = min(shared, key=lambda each: (-len(each), each))
    compared = sound[sound["seed"].isin(seeds)].groupby("hyper", sort=False)
    means = compared[["validation_accuracy", "validation_loss"]].mean()[compared.size() == len(seeds)]
    order = means.sort_values(
        ["validation_accuracy", "validation_loss"], ascending=[False, True], kind="stable"
    )
    return list(order.index)


def cell_result(cell: Cell, rows: pd.DataFrame, protocol: Protocol) -> dict[str, Any] | None:
    """Our result for a cell, beside the paper's number; None if no run of it has a result.

    Accuracies are in per cent. `hyper` is the value of the grid that noisy validation chose, `accuracy` the
    mean clean test accuracy over all of its seeds, each at its best noisy-validation epoch. `std` is over the
    seeds, or by bootstrap of the test examples if there is one seed. `values` counts the grid, `values_run`
    those of it with rows and `values_compared` those with comparable seeds. `meets` is true if the
    accuracy agrees with the paper's or exceeds it; None if too few epochs ended a run, and for quick runs.
    """
    settings = [task.setting for task in make_tasks(cell, [0], protocol)]
    own = current(rows[rows["setting"].isin(settings)])
    ranked = rank_values(own)
    if not ranked:
        return None
    chosen = own[(own["hyper"] == ranked[0]) & own["test_accuracy"].notna()].sort_values("seed")
    accuracies = 100 * chosen["test_accuracy"]
    accuracy, count = float(accuracies.mean()), len(chosen)
    is_cut = ((chosen["epochs"] < protocol.full_epochs) & ~is_exhausted(chosen)).any()
    gap_auc = chosen["gap_auc"].mean()
    paper, paper_std = PAPER[cell]
    return {
        "problem": cell.problem,
        "method": cell.method,
        "hyper": ranked[0],
        "seeds": chosen["seed"].tolist(),
        "accuracy": accuracy,
        "std": float(accuracies.std() if count > 1 else 100 * chosen["bootstrap_std"].iloc[0]),
        "std_by": "seeds" if count > 1 else "bootstrap",
        "gap_auc": None if pd.isna(gap_auc) else float(gap_auc),
        "epochs": int(chosen["epochs"].min()),
        "epochs_run": chosen["epochs_run"].tolist(),
        "protocol_epochs": protocol.full_epochs,
        "values_run": own["hyper"].nunique(),
        "values_compared": len(ranked),
        "values": len(settings),
        "paper": paper,
        "paper_std": paper_std,
        "difference": None if protocol.quick else accuracy - paper,
        "meets": None if protocol.quick or is_cut else accuracy >= least_agreeing(cell, count),
    }


def least_agreeing(cell: Cell, seeds: int) -> float:
    """The lowest mean over `seeds` runs that agrees with the paper: its value − 2·√(s²/5 + s²/m) − 0.1."""
    accuracy, std = PAPER[cell]
    return accuracy - 2 * std * sqrt(1 / PAPER_SEEDS + 1 / seeds) - MARGIN


def all_results(out: Path, kind: str = "full") -> list[dict[str, Any]]:
    """Every cell of the paper that has rows of this protocol in `out`, as `cell_result` describes it."""
    found = []
    for table, cells in TABLES.items():
        protocol = protocol_for(table, kind)
        rows = read_rows(rows_path(out, protocol.file))
        results = [cell_result(cell, rows, protocol) for cell in cells]
        found += [{"data": table, **result} for result in results if result is not None]
    return found

"""What docs/results.md is made of: everything measured so far, cell by cell, and what is left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import measure_causes
from noiselimit.reproduce.cell_result import CellResult, Runs
from noiselimit.reproduce.cells import cell_result, cell_rows, failed_runs, grid_values
from noiselimit.reproduce.cohorts import plan_cohorts, total_seconds
from noiselimit.reproduce.figures.curves import KIND, Curves, read_curves
from noiselimit.reproduce.figures.kept import kept_file, read_kept
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.protocol import protocol_for
from noiselimit.reproduce.rows import ResultRow, RowKey
from noiselimit.reproduce.rows_file import read_rows, rows_path
from noiselimit.reproduce.speed import Speed, find_speed
from noiselimit.reproduce.studies import STUDIES, Cell
from noiselimit.reproduce.work import all_tasks, missing_tasks
from pages.folders import RESULTS

PLACE = RESULTS / "reproduce"
SYMBOLS = {"beta": "β", "sigma": "σ", "penalty": "λ", "learning_rate": "rate"}
LIMITS = ("limit-g", "limit-l", "limit-g+s", "limit-l+s", "limit-g+init", "limit-l+init")
NOT_REACHED = "**not reached**"
DETAILS = "results-details.md"
NAMES = {"mnist": "MNIST", "cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "clothing1m": "Clothing1M"}


@dataclass(frozen=True, eq=False)
class Measured:
    """All that the files say."""

    rows: Mapping[str, Sequence[ResultRow]]
    """Data set → its rows, quick trials left out."""
    results: Mapping[Cell, CellResult]
    """Cells without a result are not in it."""
    failed: Mapping[Cell, Runs]
    """Cells of which runs failed and none came to a result → these runs."""
    figure_rows: Sequence[ResultRow]
    """Of runs that were made for figures alone."""
    curves: Mapping[tuple[RowKey, int], Curves]
    """A run's key and the epochs it was allowed → its accuracies, where they were kept."""
    speed: Speed | None
    causes: Mapping[str, Any]
    """Part → what docs/measure_causes.py measured."""

    def of(self, data: str, noise: str, p: float | None, n: int | None) -> list[CellResult]:
        """The results on one problem."""
        place = (data, noise, p, n)
        found = self.results.items()
        return [result for cell, result in found if (cell.data, cell.noise, cell.p, cell.n) == place]

    def why_none(self, cell: Cell) -> str:
        """Why a cell has no result."""
        return "failed" if cell in self.failed else "not run yet"

    def is_left(self, cell: Cell) -> bool:
        """Whether it has no result and values of its grid were not tried yet."""
        tried = {value for value, _ in self.failed.get(cell, ())}
        return cell not in self.results and not tried.issuperset(grid_values(cell, protocol_for(cell.data)))


def stored(place: Path = PLACE, results: Path = RESULTS) -> Measured:
    """What was measured so far and how fast an H200 is."""
    rows = {data: [row for row in read_rows(rows_path(place, data)) if not row.quick] for data in STUDIES}
    found: dict[Cell, CellResult] = {}
    failed: dict[Cell, Runs] = {}
    for study in STUDIES.values():
        for cell in study.cells:
            if (result := cell_result(cell, rows[study.data])) is not None:
                found[cell] = result
            elif runs := failed_runs(cell_rows(cell, rows[study.data])):
                failed[cell] = runs
    return Measured(
        rows,
        found,
        failed,
        _of_figures(rows, place),
        _curves(place),
        find_speed("cuda", [results]),
        measure_causes.stored(results / "causes.json"),
    )


def _of_figures(rows: Mapping[str, Sequence[ResultRow]], place: Path) -> list[ResultRow]:
    """What figures keep of runs that no table has, each once."""
    of_tables = {(row.key, row.epochs) for own in rows.values() for row in own}
    kinds = dict.fromkeys(figure.kind for figure in FIGURES.values() if figure.kind is not None)
    kept = [one.row for kind in kinds for one in read_kept(kept_file(place, kind)) if not one.row.quick]
    each = {(row.key, row.epochs): row for row in kept}
    return [row for key, row in each.items() if key not in of_tables]


def _curves(place: Path) -> dict[tuple[RowKey, int], Curves]:
    kept = (one for one in read_kept(kept_file(place, KIND)) if not one.row.quick)
    return {(one.row.key, one.row.epochs): read_curves(one) for one in kept}


def left_to_run(cells: Sequence[Cell], measured: Measured) -> tuple[int, float | None]:
    """Runs that the cells, all of one data set, still take by the paper's protocol, and hours on an H200."""
    data = cells[0].data
    protocol, rows = protocol_for(data), measured.rows[data]
    missing = missing_tasks(all_tasks(cells, range(protocol.seeds), protocol), rows, protocol)
    seconds = total_seconds(plan_cohorts(missing, rows, protocol, measured.speed))
    return len(missing), None if seconds is None else seconds / 3600


def hours_text(hours: float | None) -> str:
    """'3.2 hours', '12 minutes'."""
    if hours is None:
        return "unknown time"
    if hours < 1:
        minutes = max(round(60 * hours), 1)
        return f"{minutes} minute{'' if minutes == 1 else 's'}"
    return f"{hours:.1f} hours" if hours < 10 else f"{hours:,.0f} hours"


def value_text(hyper: str) -> str:
    """'beta=10 sigma=0.03' → 'β 10, σ 0.03'."""
    pairs = (part.split("=") for part in hyper.split())
    return ", ".join(f"{SYMBOLS.get(name, name)} {value}" for name, value in pairs)


def mean_percent(rows: Sequence[ResultRow], share: str) -> float:
    """Mean of a share over rows, such as their test_accuracy, in per cent."""
    return 100 * fmean(getattr(row, share) or 0.0 for row in rows)


def signed(value: float) -> str:
    """'+0.3' or '−0.3'."""
    rounded = round(value, 1)
    return f"{'−' if rounded < 0 else '+'}{abs(rounded):.1f}"

"""What docs/results.md is made of: everything measured so far, cell by cell, and what is left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from noiselimit.reproduce.cells import CellResult, cell_result
from noiselimit.reproduce.cohorts import plan_cohorts
from noiselimit.reproduce.protocol import protocol_for
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.rows_file import read_rows, rows_path
from noiselimit.reproduce.speed import Speed, find_speed
from noiselimit.reproduce.studies import STUDIES, Cell
from noiselimit.reproduce.work import all_tasks, missing_tasks

DOCS = Path(__file__).resolve().parent
RESULTS = DOCS.parent / "results"
PLACE = RESULTS / "reproduce"
LABELS = {
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
"""The methods as the paper's tables call them."""
NAMES = {"mnist": "MNIST", "cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "clothing1m": "Clothing1M"}


@dataclass(frozen=True, eq=False)
class Measured:
    """All that the files say."""

    rows: Mapping[str, Sequence[ResultRow]]
    """Data set → its rows, quick trials left out."""
    results: Mapping[Cell, CellResult]
    """Cells without a result are not in it."""
    speed: Speed | None

    def of(self, data: str, noise: str, p: float | None, n: int | None) -> list[CellResult]:
        """The results on one problem."""
        place = (data, noise, p, n)
        found = self.results.items()
        return [result for cell, result in found if (cell.data, cell.noise, cell.p, cell.n) == place]


def stored(place: Path = PLACE, results: Path = RESULTS) -> Measured:
    """What was measured so far and how fast an H200 is."""
    rows = {data: [row for row in read_rows(rows_path(place, data)) if not row.quick] for data in STUDIES}
    found = {
        cell: result
        for study in STUDIES.values()
        for cell in study.cells
        if (result := cell_result(cell, rows[study.data])) is not None
    }
    return Measured(rows, found, find_speed("cuda", [results]))


def left_to_run(cells: Sequence[Cell], measured: Measured) -> tuple[int, float | None]:
    """Runs that the cells, all of one data set, still take by the paper's protocol, and hours on an H200."""
    data = cells[0].data
    protocol, rows = protocol_for(data), measured.rows[data]
    missing = missing_tasks(all_tasks(cells, range(protocol.seeds), protocol), rows, protocol)
    seconds = [cohort.seconds for cohort in plan_cohorts(missing, rows, protocol, measured.speed)]
    known = [one for one in seconds if one is not None]
    return len(missing), sum(known) / 3600 if len(known) == len(seconds) else None


def hours_text(hours: float | None) -> str:
    """'3.2 hours', '12 minutes'."""
    if hours is None:
        return "unknown time"
    if hours < 1:
        minutes = max(round(60 * hours), 1)
        return f"{minutes} minute{'' if minutes == 1 else 's'}"
    return f"{hours:.1f} hours" if hours < 10 else f"{hours:,.0f} hours"

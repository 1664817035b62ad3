"""From rows to a figure of a table: what validation chose from the grid, mean and spread over seeds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from noiselimit.reproduce.paper import PaperFigure, paper_figure
from noiselimit.reproduce.protocol import Protocol, protocol_for
from noiselimit.reproduce.rows import ResultRow, current_rows, hyper_text
from noiselimit.reproduce.studies import Cell

PAPER_SEEDS = 5
MARGIN = 0.1
"""Per cent, for the rounding of printed figures."""


@dataclass(frozen=True)
class CellResult:
    """What was measured of a cell; accuracies in per cent, as in the paper."""

    cell: Cell
    hyper: str
    """The value of the grid that noisy validation chose, such as 'beta=10'."""
    seeds: tuple[int, ...]
    """Of the chosen value, all that were run."""
    accuracy: float
    """Mean clean test accuracy over the seeds, each at its best noisy-validation epoch."""
    std: float
    """Over the seeds; of one seed by bootstrap of the test examples."""
    std_by: str
    """seeds or bootstrap."""
    validation_accuracy: float
    gap_auc: float | None
    """Mean over the seeds of the chosen value."""
    epochs: int
    """The limit of epochs of the chosen value, the lowest where seeds differ."""
    screen_epochs: int | None
    """The lower limit under which other values were compared with it; None: all had the same."""
    epochs_run: float
    """Mean over the seeds of the chosen value."""
    seconds: float
    """Of all runs of the cell, the whole grid."""
    values_run: int
    values: int
    """How many values of the grid were compared, and how many there are; fewer are stated, never silent."""
    compared_seeds: tuple[int, ...]
    """Seeds that all compared values have: by these one was chosen."""
    paper: PaperFigure | None

    @property
    def difference(self) -> float | None:
        """Measured less the paper's."""
        return None if self.paper is None else self.accuracy - self.paper.accuracy

    @property
    def threshold(self) -> float | None:
        """The least accuracy that agrees with the paper: its value − 2·√(s²/5 + s²/m) − 0.1."""
        if self.paper is None:
            return None
        spread = self.paper.std * sqrt(1 / PAPER_SEEDS + 1 / len(self.seeds))
        return self.paper.accuracy - 2 * spread - MARGIN

    @property
    def meets(self) -> bool | None:
        """Whether the measured accuracy reaches it; None where the paper has none."""
        return None if self.threshold is None else self.accuracy >= self.threshold


def cell_result(cell: Cell, rows: Iterable[ResultRow], protocol: Protocol | None = None) -> CellResult | None:
    """What the rows, of whatever cells, say of this one; None where none is of it.

    Values that no row is of, or of which a run failed, are left out of the comparison, and so are seeds that
    some value lacks; the chosen value's mean is over all seeds that it has.
    """
    protocol = protocol or protocol_for(cell.data)
    run = cell_rows(cell, rows, protocol)
    by_value = {value: own for value, own in run.items() if not any(row.failure for row in own)}
    if not by_value:
        return None
    shared = set.intersection(*({row.seed for row in of_value} for of_value in by_value.values()))
    compared = shared or {row.seed for of_value in by_value.values() for row in of_value}

    def merit(of_value: Sequence[ResultRow]) -> tuple[int, float, float]:
        counted = [row for row in of_value if row.seed in compared]
        return (
            len(counted) if not shared else 0,  # no seed in common: what was run most often
            fmean(row.validation_accuracy or 0.0 for row in counted),
            -fmean(row.validation_loss or 0.0 for row in counted),
        )

    chosen = max(by_value, key=lambda value: merit(by_value[value]))
    own = sorted(by_value[chosen], key=lambda row: row.seed)
    accuracies = [100 * (row.test_accuracy or 0.0) for row in own]
    limits = [
        row.epochs
        for of_value in by_value.values()
        for row in of_value
        if not row.is_exhausted and row.epochs < min(one.epochs for one in own)
    ]
    areas = [row.gap_auc for row in own if row.gap_auc is not None]
    return CellResult(
        cell=cell,
        hyper=chosen,
        seeds=tuple(row.seed for row in own),
        accuracy=fmean(accuracies),
        std=stdev(accuracies) if len(own) > 1 else 100 * (own[0].bootstrap_std or 0.0),
        std_by="seeds" if len(own) > 1 else "bootstrap",
        validation_accuracy=100 * fmean(row.validation_accuracy or 0.0 for row in own),
        gap_auc=fmean(areas) if areas else None,
        epochs=min(row.epochs for row in own),
        screen_epochs=min(limits) if limits else None,
        epochs_run=fmean(row.epochs_run for row in own),
        seconds=sum(row.seconds for of_value in run.values() for row in of_value),
        values_run=len(run),
        values=len({spec_hyper(cell, spec.hyper, spec.learning_rate) for spec in cell.specs([0], protocol)}),
        compared_seeds=tuple(sorted(shared)),
        paper=paper_figure(cell.data, cell.noise, cell.p, cell.n, cell.method),
    )


def cell_rows(cell: Cell, rows: Iterable[ResultRow], protocol: Protocol) -> dict[str, list[ResultRow]]:
    """The current rows of the cell, failed runs too, by the value of the grid."""
    found: dict[str, list[ResultRow]] = {}
    own = (row for row in rows if is_of(cell, row, quick=protocol.quick) and row.network == protocol.network)
    for row in current_rows(own):
        found.setdefault(row.hyper, []).append(row)
    return found


def is_of(cell: Cell, row: ResultRow, *, quick: bool = False) -> bool:
    """Whether the row is of a run of this cell. Without noise it may serve several tables."""
    noise = "none" if cell.p == 0 else cell.noise
    return (row.data, row.noise, row.p, row.n, row.method, row.quick) == (
        cell.data,
        noise,
        cell.p,
        cell.n,
        cell.method,
        quick,
    )


def spec_hyper(cell: Cell, hyper: Mapping[str, float], learning_rate: float) -> str:
    """What was searched in a run of this cell, as its row says it."""
    searched = protocol_for(cell.data).grids[cell.method]
    return hyper_text({name: hyper.get(name, learning_rate) for name in searched})

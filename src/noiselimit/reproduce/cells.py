"""From rows to a figure of a table: what validation chose from the grid, mean and spread over seeds."""

from collections.abc import Iterable, Mapping
from statistics import fmean, stdev

from noiselimit.reproduce.cell_result import CellResult, Runs
from noiselimit.reproduce.comparison import compare
from noiselimit.reproduce.paper import paper_figure
from noiselimit.reproduce.protocol import Protocol, protocol_for
from noiselimit.reproduce.rows import ResultRow, current_rows, hyper_text
from noiselimit.reproduce.studies import Cell


def cell_result(cell: Cell, rows: Iterable[ResultRow], protocol: Protocol | None = None) -> CellResult | None:
    """What the rows, of whatever cells, say of this one; None where no run of it came to a result.

    Which values are compared, and over which seeds, `compare` says; the chosen value's mean is over all seeds
    that it has.
    """
    protocol = protocol or protocol_for(cell.data)
    by_value = cell_rows(cell, rows, protocol)
    found = compare(by_value)
    if found is None:
        return None
    chosen = found.ranked[0]
    own = sorted((row for row in by_value[chosen] if row.has_result), key=lambda row: row.seed)
    accuracies = [100 * (row.test_accuracy or 0.0) for row in own]
    compared = [row for value in found.ranked for row in by_value[value] if row.has_result]
    whole = protocol.parent_epochs or protocol.epochs  # a call may allow fewer, but not change what they are
    epochs = min((row.epochs for row in own if not row.is_exhausted), default=whole)
    seeds = {row.seed for row in own}
    areas = [row.gap_auc for row in own if row.gap_auc is not None]
    everything = [row for of_value in by_value.values() for row in of_value]
    return CellResult(
        cell=cell,
        hyper=chosen,
        seeds=tuple(row.seed for row in own),
        accuracy=fmean(accuracies),
        std=stdev(accuracies) if len(own) > 1 else 100 * (own[0].bootstrap_std or 0.0),
        std_by="seeds" if len(own) > 1 else "bootstrap",
        validation_accuracy=100 * fmean(row.validation_accuracy or 0.0 for row in own),
        gap_auc=fmean(areas) if areas else None,
        epochs=epochs,
        is_screened=any(row.seed in found.seeds and not row.serves(epochs) for row in compared),
        epochs_allowed=tuple(row.epochs for row in own),
        epochs_run=tuple(row.epochs_run for row in own),
        protocol_epochs=whole,
        values_run=len(by_value),
        values_compared=len(found.ranked),
        values=len(grid_values(cell, protocol)),
        compared_seeds=found.seeds,
        lacking=found.lacking,
        short=tuple(value for value in found.ranked if not seeds <= {row.seed for row in by_value[value]}),
        failed=failed_runs(by_value),
        broken_off=tuple((row.hyper, row.seed) for row in everything if row.failure and row.has_result),
        precisions=tuple(sorted({row.precision for row in compared})),
        paper=paper_figure(cell.data, cell.noise, cell.p, cell.n, cell.method),
    )


def failed_runs(by_value: Mapping[str, Iterable[ResultRow]]) -> Runs:
    """Those that failed before there was an epoch to choose; they are not run again."""
    return tuple((value, row.seed) for value, rows in by_value.items() for row in rows if not row.has_result)


def grid_values(cell: Cell, protocol: Protocol) -> tuple[str, ...]:
    """All values that are tried for the cell."""
    specs = cell.specs([0], protocol)
    return tuple(dict.fromkeys(spec_hyper(cell, spec.hyper, spec.learning_rate) for spec in specs))


def cell_rows(
    cell: Cell, rows: Iterable[ResultRow], protocol: Protocol | None = None
) -> dict[str, list[ResultRow]]:
    """The current rows of the cell, failed runs too, by the value of the grid: of each seed one at most.

    Values that the protocol does not try are left out: more of them would make a better choice.
    """
    protocol = protocol or protocol_for(cell.data)
    tried = set(grid_values(cell, protocol))
    found: dict[str, list[ResultRow]] = {}
    for row in current_rows(row for row in rows if is_of(cell, row, protocol) and row.hyper in tried):
        found.setdefault(row.hyper, []).append(row)
    return found


def is_of(cell: Cell, row: ResultRow, protocol: Protocol) -> bool:
    """Whether the row is of a run of this cell by this protocol. Without noise it may serve several tables.

    Networks and patience are compared, since one seed would have several rows otherwise.
    """
    place = (cell.data, cell.row_noise, cell.p, cell.n, cell.method)
    way = (protocol.quick, protocol.network, protocol.patience)
    is_there = (row.data, row.noise, row.p, row.n, row.method) == place
    return is_there and (row.quick, row.network, row.patience) == way


def spec_hyper(cell: Cell, hyper: Mapping[str, float], learning_rate: float) -> str:
    """What was searched in a run of this cell, as its row says it."""
    searched = protocol_for(cell.data).grids[cell.method]
    return hyper_text({name: hyper.get(name, learning_rate) for name in searched})

"""A figure of the paper: whose runs it shows, and how what they left is drawn."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from noiselimit.reproduce.cells import grid_values, is_of, spec_hyper
from noiselimit.reproduce.figures.kept import Kept, current_kept
from noiselimit.reproduce.protocol import LIKELY, Protocol, protocol_for
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.studies import Cell
from noiselimit.reproduce.work import Task, missing_tasks

SEED = 0
"""A figure shows one split."""


@dataclass(frozen=True)
class Figure:
    """One of the paper's figures by the name that `noiselimit reproduce` knows it by."""

    name: str
    title: str
    place: str
    """Where it is in the paper, or why it is here."""
    data: str | None
    """The paper's name of the data set; None where nothing is trained."""
    kind: str | None
    """Which file of what runs left (`kept_file`) it is drawn from; None: from none."""
    wants: Callable[[ResultRow], bool]
    """Whether a run's row is of a run that it shows."""
    tasks: Callable[[Protocol], list[Task]]
    """What is trained for it; runs of the tables that it wants count as well."""
    draw: Callable[[Sequence[Kept]], str | None]
    """An SVG file of what it wants; None where nothing was measured, or where it is a sheet of pictures."""
    caption: Callable[[Sequence[Kept]], str]
    """What was measured, in a sentence or two; asked only where something was."""
    adapted: Callable[[Protocol], Protocol] = lambda protocol: protocol
    """Its protocol, where that is not quite the table's."""

    def protocol(self, *, quick: bool = False, epochs: int | None = None) -> Protocol | None:
        """How its runs are trained."""
        return (
            None if self.data is None else self.adapted(protocol_for(self.data, quick=quick, epochs=epochs))
        )

    def missing(self, kept: Iterable[Kept], protocol: Protocol) -> list[Task]:
        """The runs that are still to be trained."""
        return missing_tasks(self.tasks(protocol), [one.row for one in kept], protocol)

    def own(self, kept: Iterable[Kept], *, quick: bool = False) -> list[Kept]:
        """What is of its runs, those too that were allowed fewer epochs than others like them."""
        return [one for one in kept if one.row.quick == quick and self.wants(one.row)]

    def shown(self, kept: Iterable[Kept], *, quick: bool = False) -> list[Kept]:
        """What it shows of all that was kept."""
        return current_kept(self.own(kept, quick=quick))


def tasks_of(cells: Sequence[Cell], protocol: Protocol) -> list[Task]:
    """All values of the cells' grids."""
    found = [
        Task(cell, spec, spec_hyper(cell, spec.hyper, spec.learning_rate))
        for cell in cells
        for spec in cell.specs([SEED], protocol)
    ]
    return sorted(found, key=lambda task: LIKELY.index(task.spec.hyper.get("beta", LIKELY[0])))


def wanted_by(cells: Sequence[Cell]) -> Callable[[ResultRow], bool]:
    """Rows of the tables' runs of these cells, of the one split that is shown and of values of the grids."""

    def wants(row: ResultRow) -> bool:
        if row.seed != SEED:
            return False
        protocols = ((cell, protocol_for(cell.data, quick=row.quick)) for cell in cells)
        return any(
            is_of(cell, row, protocol) and row.hyper in grid_values(cell, protocol)
            for cell, protocol in protocols
        )

    return wants

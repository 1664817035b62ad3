"""The paper's tables as cells, and a cell as the runs that it takes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from noiselimit.errors import InputError, unknown
from noiselimit.grids import grid
from noiselimit.noise.pair import CIFAR10_PAIRS
from noiselimit.reproduce.paper import paper_cells
from noiselimit.reproduce.protocol import Protocol, protocol_for
from noiselimit.reproduce.rows import ResultRow, number_or_nan
from noiselimit.spec import RunSpec

QUICK_PAIRS = ("1>7", "3>8", "4>9", "5>6")
"""Digits that are taken for each other, in the place of CIFAR-10's classes."""


@dataclass(frozen=True)
class Cell:
    """One figure of a table: what a method reaches on one problem."""

    data: str
    noise: str
    """uniform, pair or, of labels that are noisy by themselves, real."""
    p: float | None
    """How often a label that noise may change is changed; None where the noise is real."""
    n: int | None
    """Training examples; None: all."""
    method: str

    @property
    def problem(self) -> str:
        """'uniform:0.8/10000': what `--cells` selects by, and the method beside it."""
        return "/".join(
            [
                self.noise if self.p is None else f"{self.noise}:{self.p:g}",
                *([] if self.n is None else [str(self.n)]),
            ]
        )

    @property
    def row_noise(self) -> str:
        """As rows have it: without noise a run is the same in whatever table, so that one serves all."""
        return "none" if self.p == 0 else self.noise

    def specs(self, seeds: Iterable[int], protocol: Protocol | None = None) -> list[RunSpec]:
        """Every value of the method's grid for every seed, the seeds outermost."""
        protocol = protocol or protocol_for(self.data)
        return [
            spec
            for seed in seeds
            for spec in grid(
                method=self.method,
                seed=seed,
                noise=run_noise(self, quick=protocol.quick),
                network=protocol.network,
                epochs=protocol.epochs,
                parent_epochs=protocol.parent_epochs,
                patience=protocol.patience,
                batch_size=protocol.batch_size,
                augmentation=protocol.augmentation,
                train_size=protocol.train_sizes[self.n],
                **{"learning_rate": protocol.learning_rate, **_lists(protocol, self.method)},
            )
        ]


@dataclass(frozen=True)
class Study:
    """A table, or several that say the same with and without error bars."""

    name: str
    title: str
    cells: tuple[Cell, ...]

    @property
    def data(self) -> str:
        """The one data set that all cells are of."""
        return self.cells[0].data

    @property
    def methods(self) -> tuple[str, ...]:
        """In the order of the paper's table."""
        return tuple(dict.fromkeys(cell.method for cell in self.cells))


def run_noise(cell: Cell, *, quick: bool = False) -> str:
    """As a spec has it."""
    if not cell.p:
        return "none"
    if quick and cell.noise == "pair":
        return "pair:" + ";".join(f"{pair}:{cell.p:g}" for pair in QUICK_PAIRS)
    return f"{cell.noise}:{cell.p:g}"


def wrong_share(cell: Cell | ResultRow) -> float | None:
    """Of all labels, on average; pairs change some classes only. None where the noise is real."""
    if cell.p is None or cell.noise != "pair":
        return cell.p
    return cell.p * len(CIFAR10_PAIRS) / protocol_for(cell.data).classes


TITLES = {
    "mnist": "MNIST with uniform noise (tab:mnist)",
    "cifar10": "CIFAR-10 with uniform and pair noise (tab:joint-table)",
    "cifar100": "CIFAR-100 with uniform noise (tab:joint-table)",
    "clothing1m": "Clothing1M (tab:joint-table)",
}


def _lists(protocol: Protocol, method: str) -> dict[str, list[float]]:
    return {name: list(values) for name, values in protocol.grids[method].items()}


def _study(name: str) -> Study:
    cells = tuple(
        Cell(entry.data, entry.noise, entry.p, entry.n, entry.method)
        for entry in paper_cells()
        if entry.data == name
    )
    return Study(name, TITLES[name], cells)


STUDIES: Mapping[str, Study] = {name: _study(name) for name in TITLES}
"""The tables by name, in the order of the paper."""


def chosen_cells(
    study: Study, methods: Sequence[str] | None = None, problems: Sequence[str] | None = None
) -> list[Cell]:
    """The cells of these methods on these problems, such as uniform:0.8/10000, uniform:0.8 or uniform."""
    for method in methods or ():
        if method not in study.methods:
            raise unknown("method of this table", method, study.methods)
    for problem in problems or ():
        if not any(_is_on(cell, problem) for cell in study.cells):
            known = ", ".join(dict.fromkeys(cell.problem for cell in study.cells))
            raise InputError(f"table {study.name} has no cell '{problem}': give some of {known}.")
    return [
        cell
        for cell in study.cells
        if (methods is None or cell.method in methods)
        and (problems is None or any(_is_on(cell, problem) for problem in problems))
    ]


def _is_on(cell: Cell, problem: str) -> bool:
    """Whether the cell's problem is this one; share and size may be left out, and .80 is the share 0.8."""
    noise, *sizes = problem.split("/")
    name, colon, share = noise.partition(":")
    return (
        name == cell.noise
        and (not colon or number_or_nan(share) == cell.p)
        and sizes == ([] if cell.n is None else [str(cell.n)])[: len(sizes)]
    )

"""Whether the size of a batch explains cells of MNIST below the paper's, in docs/results-details.md."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from measure_causes import OF_SIZES, SIZES
from noiselimit.reproduce.cell_result import least_agreeing, most_agreeing
from noiselimit.reproduce.paper import LABELS, PaperFigure, paper_figure
from noiselimit.reproduce.protocol import protocol_for
from noiselimit.reproduce.studies import Cell
from pages.cause_runs import CauseRun, Part, accuracy, by_value, command_of, how, mean

BELOW, ABOVE = " ↓", " ↑"


@dataclass(frozen=True)
class Sized:
    """A cell with one size of a batch."""

    cell: Cell
    size: int
    paper: PaperFigure
    runs: Sequence[CauseRun]

    @property
    def mark(self) -> str:
        """Whether it is below the line, or as far above the paper's as that is below."""
        own, seeds = mean(self.runs, "test_accuracy"), len(self.runs)
        if own < least_agreeing(self.paper, seeds):
            return BELOW
        return ABOVE if own > most_agreeing(self.paper, seeds) else ""


def section(parts: Mapping[str, Part]) -> str:
    """The cells that were looked at for being low, and those that agree with the paper as they are."""
    groups = {part: _sized(part, parts[part]) for part in OF_SIZES if part in parts}
    lines = [
        "**The size of a batch.** The paper names none, and with few examples and many wrong labels, when "
        "memorising begins depends on it:",
        "",
        f"| test accuracy, % | {' | '.join(f'batches of {size}' for size in SIZES)} | the paper's |",
        "| --- |" + " ---: |" * (len(SIZES) + 1),
    ]
    for sized in groups.values():
        for cell in dict.fromkeys(one.cell for one in sized):
            own = [one for one in sized if one.cell == cell]
            cells = [*(f"{accuracy(one.runs)}{one.mark}" for one in own), own[0].paper.text]
            lines.append(f"| {LABELS[cell.method]} at {cell.problem} | " + " | ".join(cells) + " |")
    key = "↓: below the line that the cells of LIMIT are held to; ↑: above the paper's by as much."
    said = [key, *_counts(groups), OF_AUTHOR, _what_rounding_does(groups)]
    return "\n".join(
        [*lines, "", " ".join(filter(None, said)), "", f"{how(parts)}{_best(parts)}{_not_run(groups)}"]
    )


def _best(parts: Mapping[str, Part]) -> str:
    """Whether a part that was allowed fewer epochs than the tables had enough of them."""
    usual = protocol_for("mnist").epochs
    best = [run["best_epoch"] for part in parts.values() if part["epochs"] < usual for run in part["runs"]]
    return f" Where fewer than {usual} were allowed, no best epoch is after {max(best)}." if best else ""


OF_AUTHOR = (
    "The author's code has 256, so that this shows how much such cells depend on details, and not what the "
    "paper's runs did."
)
GROUPS = {
    "batches": "cells that were looked at for being low",
    "controls": "that agree with the paper in the tables",
}


def _sized(part: str, results: Part) -> list[Sized]:
    found = []
    for cell in OF_SIZES[part]:
        wanted = {"n": cell.n, "noise": f"uniform:{cell.p:g}", "method": cell.method}
        paper = paper_figure(cell.data, cell.noise, cell.p, cell.n, cell.method)
        assert paper is not None
        for size in SIZES:
            values = by_value(results, **wanted, batch_size=size)
            found += [Sized(cell, size, paper, runs) for runs in list(values.values())[:1]]
    return found


def _counts(groups: Mapping[str, Sequence[Sized]]) -> list[str]:
    """How many cells of each group a size agrees with, and whether one agrees with all."""
    said, everywhere = [], set(SIZES)
    for part, sized in groups.items():
        agreeing = {size: [one for one in sized if one.size == size and not one.mark] for size in SIZES}
        cells = len({one.cell for one in sized})
        everywhere &= {size for size, own in agreeing.items() if len(own) == cells}
        counts = ", ".join(f"{len(own)} with batches of {size}" for size, own in agreeing.items())
        said.append(f"Of the {cells} {GROUPS[part]} neither is true of {counts}.")
    if len(groups) == len(GROUPS):
        which = " and ".join(map(str, sorted(everywhere)))
        said.append(f"All agree with {which}." if everywhere else "With no size do all of them agree.")
        said.append(_rise(groups))
    return said


def _rise(groups: Mapping[str, Sequence[Sized]]) -> str:
    """How much the smallest batches do for cells that had no need of it."""
    means = {}
    for part, sized in groups.items():
        by_size = {
            size: fmean(mean(one.runs, "test_accuracy") for one in sized if one.size == size)
            for size in (min(SIZES), max(SIZES))
        }
        means[part] = by_size[min(SIZES)] - by_size[max(SIZES)]
    return (
        f"Batches of {min(SIZES)} in the place of {max(SIZES)} add {means['batches']:.1f} points to the "
        f"former in the mean and {means['controls']:.1f} to the latter, which had no need of it."
    )


def _what_rounding_does(groups: Mapping[str, Sequence[Sized]]) -> str:
    if "batches" not in groups:
        return ""
    return (
        f"With {max(SIZES)} the former are the tables' runs once more, in other cohorts: how far they are "
        "from the tables' figures is what rounding does."
    )


def _not_run(groups: Mapping[str, Sequence[Sized]]) -> str:
    """What is missing, and what cannot be said without it."""
    missing = [part for part in OF_SIZES if part not in groups]
    if not missing:
        return ""
    without = (
        " The cells were looked at for being low, and such cells rise on the average whatever is changed: "
        "how much of it is the size, only cells that agree can tell."
        if "controls" in missing
        else ""
    )
    return f" Not measured yet: {command_of(*missing)}.{without}"

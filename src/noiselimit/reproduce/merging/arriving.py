"""Runs made elsewhere, as rows or as what figures keep: of each one is added, and what is odd is told of."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from noiselimit.errors import Notice
from noiselimit.reproduce.rows import Item, ResultRow, RowKey

Run = tuple[RowKey, int]
"""Key and the limit of epochs: what is said twice of a run is the same, or a contradiction."""


def run_of(row: ResultRow) -> Run:
    """Which run a row is of."""
    return row.key, row.epochs


@dataclass(frozen=True)
class Arriving(Generic[Item]):
    """What a line says of a run, and where that was found."""

    item: Item
    row: ResultRow
    file: Path
    line: int

    @property
    def run(self) -> Run:
        """Which run it is of."""
        return run_of(self.row)


def located(file: Path, items: Iterable[Item], row_of: Callable[[Item], ResultRow]) -> list[Arriving[Item]]:
    """The items of a file by their lines, the first of which is the header."""
    return [Arriving(item, row_of(item), file, line) for line, item in enumerate(items, start=2)]


def newcomers(
    arriving: Sequence[Arriving[Item]], known: Mapping[Run, Item], target: Path
) -> list[Arriving[Item]]:
    """Those of runs that the target does not know, of each the first; contradictions are told of."""
    new: dict[Run, Arriving[Item]] = {}
    for one in arriving:
        if one.run not in known:
            new.setdefault(one.run, one)
    others = {one.run for one in arriving if one.run in known and one.item != known[one.run]}
    if others:
        _tell(f"{target} has {len(others)} of these runs with another outcome, and keeps its own.")
    against = [(new[one.run], one) for one in arriving if one.run in new and one.item != new[one.run].item]
    if against:
        _tell(_contradiction(against))
    return list(new.values())


def tell_of_strangers(
    added: Sequence[Arriving[Item]], target: Path, is_used: Callable[[ResultRow], bool], nobody: str
) -> None:
    """What was added but is of no use here: others may try what the paper did not, yet should know."""
    strange = [one for one in added if not is_used(one.row)]
    if strange:
        first, row = strange[0], strange[0].row
        what = " ".join(filter(None, (row.method, row.hyper)))
        runs = f"1 run that {nobody}:" if len(strange) == 1 else f"{len(strange)} runs that {nobody}, such as"
        _tell(
            f"{target} got {runs} {what} with {row.network}, patience {row.patience} and seed {row.seed} "
            f"in line {first.line} of {first.file}."
        )


def _tell(words: str) -> None:
    warnings.warn(words, Notice, stacklevel=3)


def _contradiction(pairs: Sequence[tuple[Arriving[Item], Arriving[Item]]]) -> str:
    """Of what was added, each with a line that says something else of its run: the first pair is named."""
    (first, other), *more = pairs
    where = f"line {first.line}" + (f" of {first.file}" if first.file != other.file else "")
    rows = "1 more row was" if len(more) == 1 else f"{len(more)} more rows were"
    likewise = f"; {rows} left out likewise" if more else ""
    return (
        f"{other.file} has in line {other.line} another outcome of the run in {where}, "
        f"and the latter was added{likewise}."
    )

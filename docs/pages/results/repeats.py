"""Runs that were made again with the same seed: what the first ones said, for docs/results.md."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from noiselimit.reproduce.cell_result import CellResult
from noiselimit.reproduce.cells import cell_rows
from noiselimit.reproduce.comparison import compare
from noiselimit.reproduce.figures.curves import Curves
from noiselimit.reproduce.paper import LABELS
from noiselimit.reproduce.rows import ResultRow
from pages.results.numbers import Measured, mean_percent, value_text

LONG = 0.5
"""A run that was allowed this share of the longest one's epochs is no mere screen."""
ByValue = Mapping[str, Sequence[ResultRow]]


@dataclass(frozen=True)
class Repeat:
    """A long run of the chosen value before the one that counts, which does not go on with it."""

    runs: int
    """Long runs of the chosen value."""
    epochs: int
    """What the last one before the one that counts was allowed."""
    preferred: str
    """What validation prefers when that one counts."""
    accuracy: float
    """Of the preferred value on the test examples, in per cent."""


def by_limit(result: CellResult, measured: Measured) -> dict[int, ByValue]:
    """Limit of epochs → value of the grid → its rows, of the seeds that the values have in common."""
    rows = measured.rows[result.cell.data]
    counted = [row for row in rows if row.seed in result.compared_seeds and row.has_result]
    found = {
        limit: cell_rows(result.cell, [row for row in counted if row.epochs == limit])
        for limit in sorted({row.epochs for row in counted})
    }
    return {limit: by_value for limit, by_value in found.items() if by_value}


def repeat_of(result: CellResult, measured: Measured) -> Repeat | None:
    """None where the chosen value was trained once."""
    limits = by_limit(result, measured)
    own = [limit for limit in limits if result.hyper in limits[limit]]
    before = [limit for limit in own if LONG * max(own) <= limit < max(own)]
    if not before:
        return None
    last = max(before)
    longest = {value: at[value] for _, at in sorted(limits.items()) for value in at}
    as_it_was = {**longest, result.hyper: limits[last][result.hyper]}
    ranking = compare(as_it_was)
    assert ranking is not None
    first = ranking.ranked[0]
    return Repeat(len(before) + 1, last, first, mean_percent(as_it_was[first], "test_accuracy"))


def chosen_otherwise(result: CellResult, measured: Measured) -> Repeat | None:
    """The repeat that changed which value validation chooses, if there is one."""
    repeat = repeat_of(result, measured)
    return repeat if repeat is not None and repeat.preferred != result.hyper else None


def apart_text(results: Sequence[CellResult], measured: Measured) -> str:
    """How far runs of the same seed go apart, cut after equally many epochs; empty without their curves."""
    said = []
    for result in results:
        for first, second in _pairs(result, measured):
            shorter = min(len(first.validation), len(second.validation))
            cuts = range(max(int(LONG * shorter), 1), shorter + 1)
            apart = [100 * abs(_chosen(first, cut) - _chosen(second, cut)) for cut in cuts]
            said.append(
                f"Two runs of {LABELS[result.cell.method]}, {value_text(result.hyper)} at "
                f"{result.cell.problem} with the same seed, cut after equally many epochs, {cuts[0]} to "
                f"{shorter}, are {median(apart):.1f} points apart on the test examples in the median and "
                f"{max(apart):.1f} at most: an error by bootstrap knows nothing of that."
            )
    return " ".join(said)


def _pairs(result: CellResult, measured: Measured) -> Iterator[tuple[Curves, Curves]]:
    """The two longest runs of the chosen value, of each seed that has two long ones with curves."""
    if repeat_of(result, measured) is None:
        return
    limits = by_limit(result, measured)
    rows = [row for _, at in sorted(limits.items(), reverse=True) for row in at.get(result.hyper, ())]
    for seed in result.compared_seeds:
        kept = [measured.curves.get((row.key, row.epochs)) for row in rows if row.seed == seed][:2]
        known = [curves for curves in kept if curves is not None and curves.validation]
        if len(known) == 2:
            yield known[0], known[1]


def _chosen(curves: Curves, epochs: int) -> float:
    """Test accuracy at the epoch that validation prefers among the first ones."""
    seen = curves.validation[:epochs]
    return curves.test[seen.index(max(seen))]

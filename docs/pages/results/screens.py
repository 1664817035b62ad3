"""Grids that were not run whole, in docs/results-details.md: what each value gave, by how many epochs."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from noiselimit.reproduce.cell_result import CellResult
from noiselimit.reproduce.cells import grid_values
from noiselimit.reproduce.comparison import compare
from noiselimit.reproduce.paper import LABELS
from noiselimit.reproduce.protocol import protocol_for
from noiselimit.reproduce.rows import ResultRow
from pages.results.choice import close_call
from pages.results.numbers import Measured, mean_percent, value_text
from pages.results.repeats import ByValue, by_limit, repeat_of

NEAR_THE_END = 0.9
"""A best epoch after this share of those allowed: more of them might have done better."""


def screens(measured: Measured) -> str:
    """A table for each cell of which values were left out, or had fewer epochs than the chosen one."""
    tables = [
        _screen(result, measured)
        for result in measured.results.values()
        if result.is_screened or result.values_run < result.values
    ]
    return "\n\n".join(tables) or "Every grid was run whole."


def _screen(result: CellResult, measured: Measured) -> str:
    limits = by_limit(result, measured)
    shown = [
        value
        for value in grid_values(result.cell, protocol_for(result.cell.data))
        if any(value in own for own in limits.values())
    ]
    lines = [
        f"{LABELS[result.cell.method]} at {result.cell.problem}, noisy validation (clean test at that epoch) "
        "in %, by the epochs that runs were allowed:",
        "",
        "| | " + " | ".join(map(value_text, shown)) + " |",
        "| --- |" + " ---: |" * len(shown),
    ]
    for limit, own in limits.items():
        cells = [_cell(own[value]) if value in own else "" for value in shown]
        lines.append(f"| {limit} epochs | " + " | ".join(cells) + " |")
    lesson = [close_call(result, measured), *_lesson(result, limits, measured)]
    return "\n".join([*lines, "", " ".join(filter(None, lesson))]).rstrip()


def _cell(rows: Sequence[ResultRow]) -> str:
    epoch = fmean(row.best_epoch for row in rows)
    seen, clean = mean_percent(rows, "validation_accuracy"), mean_percent(rows, "test_accuracy")
    return f"{seen:.2f} ({clean:.1f} at {epoch:.0f})"


def _lesson(result: CellResult, limits: Mapping[int, ByValue], measured: Measured) -> list[str]:
    """Whether the shortest runs alone would have chosen the same, and what speaks for still longer ones."""
    chosen = value_text(result.hyper)
    said = [*_misled(result, limits), *_drawn_again(result, measured)]
    for value in _neighbours(result):
        had = _longest(value, limits)
        if had is None or not had.serves(result.epochs):
            given = f"was given {had.epochs} epochs at most" if had else "was not run"
            said.append(f"{value_text(value)}, next to it in the grid, {given}, and might be better.")
    longest = _longest(result.hyper, limits)
    if longest is not None and longest.best_epoch > NEAR_THE_END * longest.epochs:
        epochs = f"epoch {longest.best_epoch} of {longest.epochs}"
        said.append(f"With {chosen} validation was highest at {epochs}, so that more might be better.")
    return said


def _misled(result: CellResult, limits: Mapping[int, ByValue]) -> list[str]:
    """What the shortest runs would have chosen, where they compare values and would have chosen another."""
    shortest = min(limits)
    preferred = compare(limits[shortest]) if len(limits[shortest]) > 1 else None
    if preferred is None or preferred.ranked[0] == result.hyper:
        return []
    first, chosen = value_text(preferred.ranked[0]), value_text(result.hyper)
    return [f"After {shortest} epochs validation prefers {first}, in the end {chosen}."]


def _drawn_again(result: CellResult, measured: Measured) -> list[str]:
    """What a long run of the chosen value before the one that counts would have meant for the choice."""
    repeat = repeat_of(result, measured)
    if repeat is None:
        return []
    chosen = value_text(result.hyper)
    said = f"The runs of {chosen} are separate ones: the longer does not go on with the shorter."
    if repeat.preferred != result.hyper:
        said += (
            f" By that of {repeat.epochs} epochs validation would have preferred "
            f"{value_text(repeat.preferred)}, with a test accuracy of {repeat.accuracy:.1f}."
        )
    return [said]


def _longest(value: str, limits: Mapping[int, ByValue]) -> ResultRow | None:
    """The run of this value that was allowed the most epochs."""
    return max((row for own in limits.values() for row in own.get(value, ())), key=_allowed, default=None)


def _allowed(row: ResultRow) -> int:
    return row.epochs


def _neighbours(result: CellResult) -> list[str]:
    """The values on both sides of the chosen one."""
    values = grid_values(result.cell, protocol_for(result.cell.data))
    place = values.index(result.hyper)
    return [values[i] for i in (place - 1, place + 1) if 0 <= i < len(values)]

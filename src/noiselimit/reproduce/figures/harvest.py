"""Runs of the tables and of figures alike leave behind what some figure shows of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from noiselimit.data.examples import DataSet
from noiselimit.files import atomic_file
from noiselimit.reproduce.figures import curves, histograms, suspects
from noiselimit.reproduce.figures.drawing import picture_name, sheet_files
from noiselimit.reproduce.figures.figure import Figure
from noiselimit.reproduce.figures.kept import FOLDER, Kept, best, keep, kept_file, read_kept
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.figures.sheet import Picture, Row, sheet
from noiselimit.reproduce.figures.suspicious import EACH
from noiselimit.reproduce.rows import ResultRow
from noiselimit.runs import Run

CLASSES_PER_SHEET = {8: 10, 16: 4}
"""Pictures per class → classes on one sheet, so that these can be told apart in a small file."""


@dataclass(frozen=True)
class Harvested:
    """A run, its row and where it was trained."""

    row: ResultRow
    run: Run
    data: DataSet
    device: torch.device


KEEPERS: Mapping[str, Callable[[Harvested], Kept]] = {
    curves.KIND: lambda one: curves.keep_curves(one.row, one.run),
    histograms.KIND: lambda one: histograms.keep_histograms(one.row, one.run, one.data, one.device),
    suspects.KIND: lambda one: suspects.keep_suspects(one.row, one.run, EACH[one.row.data]),
}


def harvest(row: ResultRow, run: Run, data: DataSet, out: Path, device: torch.device) -> list[Path]:
    """Keep below `out` what figures want of this run, if any; returns the files that were written."""
    wanted = _wanted(row)
    harvested = Harvested(row, run, data, device)
    written: list[Path] = []
    for kind in dict.fromkeys(figure.kind for figure in wanted):
        if kind is not None:
            path = kept_file(out, kind)
            keep(path, [KEEPERS[kind](harvested)])
            written.append(path)
    for figure in wanted:
        if figure.kind == suspects.KIND:
            written += _draw_sheets(figure, harvested, out)
    return written


def is_lacking(row: ResultRow, out: Path) -> bool:
    """Whether figures want something of this run that is not below `out`.

    Of a run with suspects nobody can tell: their sheets of pictures do not say whose they are.
    """
    kinds = {figure.kind for figure in _wanted(row) if figure.kind is not None}
    return suspects.KIND in kinds or not all(
        any((one.row.key, one.row.epochs) == (row.key, row.epochs) for one in read_kept(kept_file(out, kind)))
        for kind in kinds
    )


def _wanted(row: ResultRow) -> list[Figure]:
    """The figures that show this run."""
    if row.failure or row.best_epoch == 0:
        return []
    return [figure for figure in FIGURES.values() if figure.wants(row)]


def _draw_sheets(figure: Figure, harvested: Harvested, out: Path) -> list[Path]:
    """Draw this run's suspects, if it is the best of those known: pictures are at hand only now."""
    row = harvested.row
    kept = best(figure.shown(read_kept(kept_file(out, suspects.KIND)), quick=row.quick))
    if kept is None or kept.row.key != row.key:
        return []
    rows = _rows(suspects.read_suspects(kept), harvested)
    name = picture_name(figure, quick=row.quick)
    for path in sheet_files(name, out):
        path.unlink()
    step = CLASSES_PER_SHEET[EACH[row.data]]
    written = []
    for number, start in enumerate(range(0, len(rows), step), 1):
        path = out / FOLDER / f"{name}-{number}.png"
        with atomic_file(path) as temporary:
            temporary.write_bytes(sheet(rows[start : start + step]))
        written.append(path)
    return written


def _rows(found: Sequence[suspects.Suspect], harvested: Harvested) -> list[Row]:
    names, inputs = harvested.data.examples.class_names, harvested.data.examples.inputs
    highest = harvested.run.data.highest or 1.0
    return [
        Row(
            name,
            [
                Picture(np.asarray(inputs[[one.index]])[0] / highest, names[one.suggested])
                for one in found
                if one.given == given
            ],
        )
        for given, name in enumerate(names)
    ]

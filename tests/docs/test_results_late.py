"""A claim tells a lucky epoch from a level that was reached."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from noiselimit.reproduce.figures.kept import Kept, keep, kept_file
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.rows_file import append_rows, rows_path
from noiselimit.reproduce.studies import Cell

CELL = Cell("mnist", "uniform", 0.8, 48_000, "limit-l")


@pytest.fixture
def late(document_module: Callable[[str], ModuleType]) -> Any:
    return document_module("pages.results.late")


@pytest.fixture
def numbers(document_module: Callable[[str], ModuleType]) -> Any:
    return document_module("pages.results.numbers")


def test_the_mean_over_the_last_epochs_stands_beside_the_chosen(
    late: Any, numbers: Any, tmp_path: Path, make_row: Callable[..., ResultRow]
) -> None:
    row = make_row(test_accuracy=0.9, epochs_run=200)
    append_rows(rows_path(tmp_path, "mnist"), [row])
    measured = numbers.stored(tmp_path, tmp_path)
    assert late.late_text(measured.results[CELL], measured) == "", "no curve was kept"
    tests = ["9000"] * 160 + ["8000", "8200"] * 20
    keep(kept_file(tmp_path, "curves"), [Kept(row, f"{' '.join(['2000'] * 200)}/{' '.join(tests)}")])
    measured = numbers.stored(tmp_path, tmp_path)
    assert late.late_text(measured.results[CELL], measured) == (
        " At the epoch that validation chose it is 90.00 %, in the mean over the last 40 epochs 81.00 %."
    )
    append_rows(rows_path(tmp_path, "mnist"), [make_row(seed=1)])
    measured = numbers.stored(tmp_path, tmp_path)
    assert late.late_text(measured.results[CELL], measured) == "", "one of two runs has no curve"

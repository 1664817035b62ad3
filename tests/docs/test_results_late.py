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
    assert late.late_text(measured.results[CELL], measured, 85.0) == "", "no curve was kept"
    tests = ["9000"] * 160 + ["8000", "8200"] * 20
    keep(kept_file(tmp_path, "curves"), [Kept(row, f"{' '.join(['2000'] * 200)}/{' '.join(tests)}")])
    measured = numbers.stored(tmp_path, tmp_path)
    assert late.late_text(measured.results[CELL], measured, 85.0) == (
        " At the epoch that validation chose it is 90.00 %, in the mean over the last 40 epochs 81.00 %, "
        "less than is wanted, over the 40 before 90.00 %."
    )
    append_rows(rows_path(tmp_path, "mnist"), [make_row(seed=1)])
    measured = numbers.stored(tmp_path, tmp_path)
    assert late.late_text(measured.results[CELL], measured, 85.0) == "", "one of two runs has no curve"


def test_the_epochs_that_validation_prefers_next_show_what_hangs_on_one(
    late: Any, numbers: Any, tmp_path: Path, make_row: Callable[..., ResultRow]
) -> None:
    row = make_row(test_accuracy=0.9, epochs_run=200)
    append_rows(rows_path(tmp_path, "mnist"), [row])
    tests, seen = [8000] * 200, [1000 + epoch for epoch in range(200)]
    tests[40], tests[41], seen[40], seen[41] = 9000, 8300, 1500, 1498
    parts = "/".join(" ".join(map(str, part)) for part in ([2000] * 200, tests, seen))
    keep(kept_file(tmp_path, "curves"), [Kept(row, parts)])
    measured = numbers.stored(tmp_path, tmp_path)
    assert late.late_text(measured.results[CELL], measured, 82.0).endswith(
        " The epoch that validation puts second, 0.02 points behind, has 83.00 %; of its first 8, 2 have "
        "what is wanted."
    )

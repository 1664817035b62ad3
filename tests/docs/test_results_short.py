"""The lines below the first table are counted from the files."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.rows_file import append_rows, rows_path

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def numbers(document_module: Callable[[str], ModuleType]) -> Any:
    return document_module("pages.results.numbers")


@pytest.fixture
def short(document_module: Callable[[str], ModuleType]) -> Any:
    return document_module("pages.results.short")


def test_mnist_is_counted_by_line_and_by_wins(
    short: Any, numbers: Any, make_row: Callable[..., ResultRow], tmp_path: Path
) -> None:
    ce = {"method": "ce", "hyper": "", "gap_auc": None}
    rows = [
        make_row(test_accuracy=0.976),
        make_row(**ce, test_accuracy=0.80),
        make_row(p=0.5, test_accuracy=0.95),
        make_row(**ce, p=0.5, test_accuracy=0.972),
    ]
    append_rows(rows_path(tmp_path, "mnist"), rows)
    first, *_ = short.in_short(numbers.stored(tmp_path, ROOT / "results"), []).splitlines()
    assert first.startswith("- **MNIST:** 1 of 2 cells of LIMIT and 1 of 2 of other methods are not below")
    assert "The farthest below is CE with 80 % uniform noise and 48,000 examples, −7.2 points" in first
    assert first.endswith(
        "LIMIT is best in 1 of 2 problems, in 1 of these by more than two standard errors of the difference."
    )

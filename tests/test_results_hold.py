"""The committed runs reach what LIMIT was held to: a change of rows or of their reading may not lose that."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def claims(document_module: Callable[[str], ModuleType]) -> Any:
    return document_module("results_claims")


@pytest.fixture
def measured(document_module: Callable[[str], ModuleType]) -> Any:
    return document_module("results_numbers").stored()


def test_enough_cells_of_limit_on_mnist_agree_with_the_paper(claims: Any, measured: Any) -> None:
    of_limit = [
        result
        for cell, result in measured.results.items()
        if cell.data == "mnist" and cell.method in claims.LIMITS
    ]
    assert len(of_limit) == 48
    assert sum(not result.meets for result in of_limit) <= claims.MOST_BELOW
    assert "More than the" not in claims.agreement(measured), "by equal seeds, too"


def test_accuracy_and_detection_are_as_wanted(claims: Any, measured: Any) -> None:
    for cell, wanted in claims.AT_LEAST.items():
        assert measured.results[cell].accuracy >= wanted
    lines = [line for line in claims.detection(measured).splitlines() if "≥" in line]
    assert len(lines) >= 3
    assert not [line for line in lines if "not run yet" in line or claims.NOT_REACHED in line]

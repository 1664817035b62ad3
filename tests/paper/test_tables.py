"""From rows to the numbers of a table."""

from functools import cache
from typing import Any

import pandas as pd
import pytest

from paper.protocol import PROTOCOLS, Cell
from paper.rows import read_rows
from paper.tables import TABLES, cell_result, rank_values
from tests.paper.rows import FAILED, RESULTS, make_rows

CELL = Cell("mnist", "uniform", 0.8, 48_000, "limit-l")
MNIST = PROTOCOLS["mnist"]


@cache
def results(table: str) -> dict[tuple[str, str], dict[str, Any]]:
    rows = read_rows(RESULTS / f"{table}.csv")
    found = (cell_result(cell, rows, PROTOCOLS[table]) for cell in TABLES[table])
    return {(each["problem"], each["method"]): each for each in found if each is not None}


@pytest.mark.parametrize(
    ("table", "problem", "method", "hyper", "seeds", "accuracy", "std", "compared", "meets"),
    [
        ("mnist", "uniform:0.8/48000", "ce", "", 3, 86.503, 1.484, 1, True),
        ("mnist", "uniform:0.8/48000", "limit-l", "beta=10", 3, 97.36, 0.599, 8, True),
        ("mnist", "uniform:0.5/1000", "ce", "", 3, 57.703, 6.022, 1, False),
        ("mnist", "uniform:0.89/10000", "limit-g+s", "beta=0.3 sigma=0.3", 2, 10.31, 0.665, 32, True),
        ("mnist", "uniform:0.8/10000", "dmi", "learning_rate=1e-05", 3, 84.617, 3.26, 4, True),
        ("cifar10", "uniform:0.4/40000", "limit-g+init", "beta=30", 1, 90.34, 0.296, 8, True),
        ("cifar10", "pair:0.4/40000", "dmi", "learning_rate=1e-06", 1, 88.47, 0.32, 3, None),
    ],
)
def test_cells_of_the_committed_rows(
    table: str,
    problem: str,
    method: str,
    hyper: str,
    seeds: int,
    accuracy: float,
    std: float,
    compared: int,
    meets: bool | None,
) -> None:
    found = results(table)[problem, method]
    assert (found["hyper"], len(found["seeds"]), found["values_compared"]) == (hyper, seeds, compared)
    assert found["accuracy"] == pytest.approx(accuracy, abs=5e-4)
    assert found["std"] == pytest.approx(std, abs=5e-4)
    assert found["meets"] is meets
    assert found["difference"] == pytest.approx(found["accuracy"] - found["paper"])


def test_the_committed_rows_agree_with_the_paper() -> None:
    assert sum(each["meets"] is True for each in results("mnist").values()) == 125
    assert len(results("mnist")) == 132
    assert sum(each["meets"] is True for each in results("cifar10").values()) == 7


def test_values_are_compared_by_the_seeds_that_they_share() -> None:
    rows = make_rows(
        {"hyper": "beta=1", "seed": 0, "validation_accuracy": 0.3},
        {"hyper": "beta=1", "seed": 1, "validation_accuracy": 0.1},
        {"hyper": "beta=10", "seed": 0, "validation_accuracy": 0.2},
        {"hyper": "beta=30", "seed": 1, "validation_accuracy": 0.9},
    )
    assert rank_values(rows.head(3)) == ["beta=1", "beta=10"]
    assert rank_values(rows) == ["beta=1", "beta=10"], "of two equal sets the lowest seeds"
    assert rank_values(rows.head(0)) == []


def test_a_value_with_a_failed_run_is_chosen_only_if_there_is_no_other() -> None:
    failed = {"hyper": "beta=1", "seed": 1, "failure": "NaN", "best_epoch": 0, **FAILED}
    rows = make_rows({"hyper": "beta=1", "validation_accuracy": 0.3}, {"hyper": "beta=10"}, failed)
    assert rank_values(rows) == ["beta=10"]
    assert rank_values(rows.iloc[[0, 2]]) == ["beta=1"]
    found = cell_result(CELL, rows, MNIST)
    assert found is not None
    assert found["hyper"] == "beta=10"
    assert cell_result(CELL, rows.tail(1), MNIST) is None


def test_rows_of_other_settings_do_not_count() -> None:
    others = [{"network": "mlp-4x512"}, {"hyper": "beta=7"}, {"patience": 5}, {"quick": True}, {"p": 0.5}]
    assert cell_result(CELL, make_rows(*others), MNIST) is None
    cut = make_rows({"epochs": 15, "epochs_run": 15, "best_epoch": 9})
    short = cell_result(CELL, cut, MNIST)
    assert short is not None
    assert (short["meets"], short["epochs"]) == (None, 15)
    longer = cell_result(CELL, pd.concat([cut, make_rows({})], ignore_index=True), MNIST)
    assert longer is not None
    assert (longer["epochs"], longer["meets"]) == (400, True)

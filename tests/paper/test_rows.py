"""Rows are read, checked and appended."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from noiselimit.errors import InputError
from paper.rows import append_rows, bootstrap_std, current, read_rows
from tests.paper.rows import FAILED, RESULTS, make_rows


@pytest.mark.parametrize(
    "name", ["mnist", "cifar10", "figures/curves", "figures/histograms", "figures/suspects"]
)
def test_committed_files_are_written_as_they_were_read(name: str, tmp_path: Path) -> None:
    committed, copy = RESULTS / f"{name}.csv", tmp_path / "copy.csv"
    rows = read_rows(committed, values="/" in name)
    append_rows(copy, rows.head(5))
    append_rows(copy, rows.iloc[5:])
    assert copy.read_bytes() == committed.read_bytes()


def test_rows_of_failed_runs_come_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "mnist.csv"
    assert read_rows(path).empty
    failed = {"seed": 1, "failure": 'a "quoted", odd message', "best_epoch": 0, **FAILED}
    append_rows(path, make_rows({}, failed))
    rows = read_rows(path)
    assert rows["failure"].tolist() == ["", 'a "quoted", odd message']
    assert rows["test_accuracy"].isna().tolist() == [False, True]


def test_half_a_line_is_ignored_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "mnist.csv"
    append_rows(path, make_rows({"seed": 0}, {"seed": 1}))
    path.write_bytes(path.read_bytes()[:-9])
    assert read_rows(path)["seed"].tolist() == [0]
    append_rows(path, make_rows({"seed": 2}))
    assert read_rows(path)["seed"].tolist() == [0, 2]


@pytest.mark.parametrize("change", [{"seed": "one"}, {"epochs": 1.5}, {"test_accuracy": "high"}, None])
def test_a_damaged_file_is_refused(change: dict[str, Any] | None, tmp_path: Path) -> None:
    path = tmp_path / "mnist.csv"
    if change is None:
        path.write_text("a,b\n1,2\n")
    else:
        append_rows(path, make_rows({}, change))
    with pytest.raises(InputError, match=r"mnist\.csv"):
        read_rows(path)


def test_of_equal_runs_the_one_with_the_most_epochs_counts() -> None:
    rows = make_rows(
        {"epochs": 15, "epochs_run": 15, "best_epoch": 9},
        {"commit": "first"},
        {"seed": 1},
        {"commit": "second"},
    )
    assert current(rows)["commit"].tolist() == ["first", ""]
    assert current(rows)["epochs"].tolist() == [400, 400]


def test_error_bars_are_those_of_a_bootstrap() -> None:
    run: Any = SimpleNamespace(
        spec=SimpleNamespace(seed=0), metrics={"test_examples": 10_000, "test_accuracy": 0.9}
    )
    assert bootstrap_std(run) == pytest.approx((0.9 * 0.1 / 10_000) ** 0.5, rel=0.1)

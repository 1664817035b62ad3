"""A figure that hangs on a run which was made again says so wherever it stands."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from noiselimit.reproduce.figures.kept import Kept, keep, kept_file
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.rows_file import append_rows, rows_path

ROOT = Path(__file__).resolve().parents[2]
MakeRow = Callable[..., ResultRow]
PAIR = {
    "data": "cifar10",
    "noise": "pair",
    "p": 0.4,
    "n": 40_000,
    "method": "limit-l+init",
    "network": "resnet-34",
}


@pytest.fixture
def page(document_module: Callable[[str], ModuleType]) -> Any:
    return document_module("pages.results.page")


@pytest.fixture
def rows(make_row: MakeRow) -> list[ResultRow]:
    """Of the chosen value the run that counts and one before it, and a value that lies between them."""
    return [
        make_row(**PAIR, validation_accuracy=0.79, test_accuracy=0.899),
        make_row(**PAIR, epochs=311, validation_accuracy=0.787, test_accuracy=0.888),
        make_row(**PAIR, hyper="beta=3", validation_accuracy=0.788, test_accuracy=0.886),
    ]


def blocks(page: Any, place: Path, rows: list[ResultRow]) -> dict[str, str]:
    append_rows(rows_path(place, "cifar10"), rows)
    content: dict[str, str] = page.blocks(page.stored(place, ROOT / "results"))
    return content


def test_the_run_before_is_told_of_with_the_claim(page: Any, rows: list[ResultRow], tmp_path: Path) -> None:
    content = blocks(page, tmp_path, rows)
    assert (
        "89.9 %, wanted 89.5 %. It is by the last of 2 long runs of β 10 with the same seed. By the one "
        "before, of 311 epochs, validation chose β 3 with 88.6 %, **not reached**."
        in content["results-agreement"]
    )
    assert (
        "wanted 89.5 %, by a second run only ([see](#against-the-papers-claims))." in content["results-short"]
    )
    assert "†‡** (1)" in content["results-head"]
    assert "‡: trained again" in content["results-head"]
    assert "‡: trained again" in content["results-cifar10"]


def test_one_run_or_the_same_choice_needs_no_word(
    page: Any, rows: list[ResultRow], make_row: MakeRow, tmp_path: Path
) -> None:
    brief = make_row(**PAIR, epochs=8, epochs_run=8, best_epoch=8, validation_accuracy=0.5, test_accuracy=0.6)
    better = make_row(**PAIR, epochs=311, validation_accuracy=0.789, test_accuracy=0.898)
    for name, before in {"none": [], "brief": [brief], "same": [better]}.items():
        content = blocks(page, tmp_path / name, [rows[0], rows[2], *before])
        assert "‡" not in content["results-head"]
        assert "long runs" not in content["results-agreement"]
        assert "second run" not in content["results-short"]


def test_what_is_not_reached_is_said_to_be(page: Any, make_row: MakeRow, tmp_path: Path) -> None:
    content = blocks(page, tmp_path, [make_row(**PAIR, test_accuracy=0.894)])
    assert "89.4 %, wanted 89.5 %: **not reached**." in content["results-agreement"]
    assert "pair noise has 89.4 %, wanted 89.5 %, **not reached**." in content["results-short"]


def test_how_far_runs_of_a_seed_are_apart_is_measured_at_equal_epochs(
    page: Any, rows: list[ResultRow], tmp_path: Path
) -> None:
    """Each by the epoch that its own validation prefers so far."""
    kept = [
        Kept(rows[0], "0 0 0 0/8000 8100 8600 8800/70 71 72 73"),
        Kept(rows[1], "0 0 0/8000 8500 8200/70 72 71"),
    ]
    keep(kept_file(tmp_path, "curves"), kept)
    said = blocks(page, tmp_path, rows)["results-cifar10"]
    assert (
        "Two runs of LIMIT-L + init, β 10 at pair:0.4/40000 with the same seed, cut after equally many "
        "epochs, 1 to 3, are 1.0 points apart on the test examples in the median and 4.0 at most" in said
    )
    assert "same seed" not in blocks(page, tmp_path / "no curves", rows)["results-cifar10"]

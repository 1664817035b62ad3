"""The page on the paper's results says what its files say, whichever of them there are."""

import importlib
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from noiselimit.reproduce.figures.kept import Kept, keep, kept_file
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.row_checks import ALL_OR_NONE
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.rows_file import append_rows, rows_path
from noiselimit.reproduce.studies import STUDIES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MakeRow = Callable[..., ResultRow]


@pytest.fixture(scope="module")
def page() -> ModuleType:
    sys.path.insert(0, str(DOCS))
    return importlib.import_module("pages.results.page")


def written(page: ModuleType, place: Path, *rows: ResultRow) -> dict[str, str]:
    for one in rows:
        append_rows(rows_path(place, one.data), [one])
    content: dict[str, str] = page.blocks(page.stored(place, ROOT / "results"))
    return content


def line(block: str, label: str) -> str:
    return next(text for text in block.splitlines() if text.startswith(f"| {label} |"))


def test_without_a_run_everything_is_left(page: ModuleType, tmp_path: Path) -> None:
    content = written(page, tmp_path)
    assert content["results-time"] == content["results-chosen"] == "No run yet."
    assert "none of the 48 cells of LIMIT was run yet" in content["results-agreement"]
    assert content["results-mnist"].endswith("No run yet.")
    assert content["results-screens"] == "Every grid was run whole."
    assert content["results-short"].startswith("- **Without a result:** 132 of MNIST, 72 of CIFAR-10, 8 of")
    assert content["results-short"].endswith("No run yet.")
    assert line(content["results-head"], "LIMIT-L − S").count("·<br>") == 5
    assert len(content["results-left"].splitlines()) == 2 + 12 + 9 + 1 + 1 + 2
    assert re.search(
        r"\| CIFAR-10 \| pair:0\.4/40000 \| all \| 39 \| [\d.]+ hours \|", content["results-left"]
    )


def test_a_cell_shows_mean_spread_seeds_paper_and_difference(
    page: ModuleType, tmp_path: Path, make_row: MakeRow
) -> None:
    seeds = [
        make_row(seed=seed, test_accuracy=accuracy) for seed, accuracy in enumerate((0.974, 0.976, 0.978))
    ]
    worse = make_row(method="ce", hyper="", test_accuracy=0.87, gap_auc=None)
    quick = make_row(method="mae", hyper="", quick=True)
    content = written(page, tmp_path, *seeds, worse, quick)
    assert "| **97.6 ± 0.2** (3)<br>97.7 ± 0.2, −0.1 |" in line(content["results-head"], "LIMIT-L − S")
    assert "| 87.0 ± 0.1† (1)<br>87.2 ± 1.0, −0.2 |" in line(content["results-head"], "CE")
    assert (
        "- **Time:** 4 runs in 1 minute, figures and causes aside, for 2 of the paper's 228 cells."
        in content["results-short"]
    )
    assert "·" in line(content["results-head"], "MAE"), "quick trials count for nothing"
    assert "Standard deviations of single seeds are by 1000 bootstrap" in content["results-mnist"]
    assert (
        "Fewer values of the grid than the paper's were run, as [tables of what each gave]"
        "(results-details.md#values-that-were-run) say: LIMIT-L − S at uniform:0.8/48000"
        in content["results-mnist"]
    )
    assert "| | β 10 |" in content["results-screens"], "which values were run is shown"
    assert "β 30, next to it in the grid, was not run, and might be better." in content["results-screens"]
    assert "| MNIST | uniform:0.8/48000 | β 10 |" in content["results-chosen"]
    assert "| MNIST | uniform, 80 % | LIMIT-L − S, β 10 | 0.9989 (3) |" in content["results-detection"]
    assert "1 of the 1 cells of LIMIT that were run, of 48" in content["results-agreement"]
    left = line(content["results-left"].replace("| MNIST | uniform:0.8/48000", "| here"), "here")
    assert "LIMIT-L − S" not in left
    assert "LIMIT-G − S" in left


def test_what_falls_short_is_named(page: ModuleType, tmp_path: Path, make_row: MakeRow) -> None:
    content = written(
        page, tmp_path, make_row(test_accuracy=0.95), make_row(noise="none", p=0.0, test_accuracy=0.992)
    )
    assert "1 of the 2 cells" in content["results-agreement"]
    assert "LIMIT-L − S at uniform:0.8/48000: 95.00, −2.7, line 97.16" in content["results-agreement"]


FAILED_AT_ONCE: dict[str, Any] = {
    **dict.fromkeys(ALL_OR_NONE),
    "failure": "the loss is not finite",
    "best_epoch": 0,
    "gap_auc": None,
}


def test_failed_runs_are_told_of_and_not_left_to_run(
    page: ModuleType, tmp_path: Path, make_row: MakeRow
) -> None:
    rates = ("0.001", "0.0001", "1e-05", "1e-06")
    dmi = [make_row(method="dmi", hyper=f"learning_rate={rate}", **FAILED_AT_ONCE) for rate in rates]
    ce = [make_row(method="ce", hyper="", seed=seed, gap_auc=None) for seed in (1, 2)]
    lost = make_row(method="ce", hyper="", **FAILED_AT_ONCE)
    limit = [make_row(hyper=f"beta={beta}", seed=seed) for beta in ("3", "10") for seed in (0, 1)]
    late = make_row(method="limit-g", failure="the loss is not finite")
    begun = make_row(method="limit-g", n=1000, hyper="beta=0", **FAILED_AT_ONCE)
    content = written(
        page, tmp_path, *dmi, *ce, lost, *limit, make_row(seed=2, **FAILED_AT_ONCE), late, begun
    )
    tables = content["results-mnist"]
    assert "| failed<br>88.8 ± 0.9 |" in line(content["results-head"], "DMI")
    assert "(2)<br>87.2 ± 1.0" in line(content["results-head"], "CE")
    assert "CE at uniform:0.8/48000 (seed 0)" in tables
    assert "LIMIT-L − S at uniform:0.8/48000 (β 10 seed 2)" in tables
    assert "DMI at uniform:0.8/48000 (rate 0.001 seed 0; rate 0.0001 seed 0; rate 1e-05 seed 0" in tables
    assert "the best epoch before that counts: LIMIT-G − S at uniform:0.8/48000 (β 10 seed 0)." in tables
    assert content["results-chosen"].endswith("| MNIST | uniform:0.8/48000 | β 10 | β 3 |")
    left = {
        text.split(" | ")[1]: text for text in content["results-left"].splitlines() if "| MNIST |" in text
    }
    assert "DMI" not in left["uniform:0.8/48000"]
    assert "MAE" in left["uniform:0.8/48000"]
    assert "| all |" in left["uniform:0.8/1000"], "a value that failed leaves the others to run"


def test_values_that_lack_seeds_are_named(page: ModuleType, tmp_path: Path, make_row: MakeRow) -> None:
    rows = [make_row(hyper=f"beta={beta}", seed=seed) for beta in ("1", "10") for seed in range(3)]
    stray = make_row(hyper="beta=100", seed=7)
    said = written(page, tmp_path, *rows, make_row(hyper="beta=1", seed=3), stray)["results-mnist"]
    assert "lack seeds of the others were not compared: LIMIT-L − S at uniform:0.8/48000 (β 100)." in said
    short = "since some values lack the others: LIMIT-L − S at uniform:0.8/48000 (β 10)."
    assert f"chosen by fewer seeds than the mean is over, {short}" in said


def test_precisions_are_stated(page: ModuleType, tmp_path: Path, make_row: MakeRow) -> None:
    rows = [
        make_row(),
        make_row(method="limit-g"),
        make_row(method="limit-g", hyper="beta=3", precision="float32"),
    ]
    said = written(page, tmp_path, *rows, make_row(method="mae", hyper=""))["results-mnist"]
    assert "Trained in bfloat16. Trained in bfloat16 and float32: LIMIT-G − S at uniform:0.8/48000." in said


def test_the_best_of_the_methods_that_are_shown_is_bold(
    page: ModuleType, tmp_path: Path, make_row: MakeRow
) -> None:
    sampled = make_row(method="limit-l+s", hyper="beta=10 sigma=0.03", test_accuracy=0.978)
    content = written(page, tmp_path, make_row(), sampled)
    assert "**97.6 ± 0.1†**" in line(content["results-head"], "LIMIT-L − S")
    assert "**97.6" not in content["results-mnist"]


def test_detection_below_what_is_wanted_is_marked(
    page: ModuleType, tmp_path: Path, make_row: MakeRow
) -> None:
    said = written(page, tmp_path, make_row(gap_auc=0.9979))["results-detection"]
    assert "| 0.9979 (1), **not reached** | .9987 | ≥ 0.998 |" in said
    assert said.count("**not reached**") == 1


def test_other_limits_of_epochs_are_stated(page: ModuleType, tmp_path: Path, make_row: MakeRow) -> None:
    rows = [
        make_row(),
        make_row(method="limit-g"),
        make_row(method="ce", hyper="", epochs=50, epochs_run=50, best_epoch=9),
    ]
    short = {"epochs": 20, "epochs_run": 20, "best_epoch": 9}
    screened = make_row(method="limit-g", hyper="beta=3", validation_accuracy=0.1, **short)
    said = written(page, tmp_path, *rows, screened)["results-mnist"]
    assert "At most 400 epochs. At most 50 epochs: CE at uniform:0.8/48000." in said
    assert "#values-that-were-run) say: LIMIT-G − S at uniform:0.8/48000." in said


def test_a_screen_is_shown_by_the_epochs_that_runs_were_allowed(
    page: ModuleType, tmp_path: Path, make_row: MakeRow
) -> None:
    short = {"method": "limit-g", "epochs": 8, "epochs_run": 8, "best_epoch": 8, "test_accuracy": 0.4}
    rows = [
        make_row(method="limit-g"),
        make_row(**short, hyper="beta=10", validation_accuracy=0.11),
        make_row(**short, hyper="beta=3", validation_accuracy=0.12),
        make_row(**short, hyper="beta=3", seed=1, validation_accuracy=0.5),
        make_row(**short, hyper="beta=7", validation_accuracy=0.6),
    ]
    said = written(page, tmp_path, *rows)["results-screens"]
    _, _, table = said.partition("LIMIT-G − S at uniform:0.8/48000, noisy validation")
    assert table.splitlines()[2:] == [
        "| | β 3 | β 10 |",
        "| --- | ---: | ---: |",
        "| 8 epochs | 12.00 (40.0 at 8) | 11.00 (40.0 at 8) |",
        "| 400 epochs |  | 19.80 (97.6 at 100) |",
        "",
        "After 8 epochs validation prefers β 3, in the end β 10. β 3, next to it in the grid, was given "
        "8 epochs at most, and might be better. β 30, next to it in the grid, was not run, and might be "
        "better.",
    ]
    late = make_row(
        method="limit-g", hyper="beta=30", validation_accuracy=0.199, epochs_run=400, best_epoch=390
    )
    assert written(page, tmp_path, late)["results-screens"].endswith(
        "With β 30 validation was highest at epoch 390 of 400, so that more might be better."
    )
    alone = [make_row(method="limit-g"), make_row(**short, hyper="beta=3")]
    assert "After 8 epochs" not in written(page, tmp_path / "alone", *alone)["results-screens"]
    grid = [make_row(method="limit-g", hyper=f"beta={beta}") for beta in (0, 0.1, 0.3, 1, 3, 10, 30, 100)]
    whole = written(page, tmp_path / "whole", *grid)["results-screens"]
    assert "LIMIT-G" not in whole
    assert "noisy validation (" in written(page, tmp_path / "part", *grid[:-1])["results-screens"]


def test_a_choice_within_the_error_of_validation_is_said_to_be_one(
    page: ModuleType, tmp_path: Path, make_row: MakeRow
) -> None:
    pair = {"data": "cifar10", "noise": "pair", "p": 0.4, "n": 40_000, "method": "limit-l+init"}
    pair |= {"network": "resnet-34"}
    first = make_row(**pair, validation_accuracy=0.7902, test_accuracy=0.899)
    near = make_row(**pair, hyper="beta=3", validation_accuracy=0.7899, test_accuracy=0.886)
    far = make_row(**pair, hyper="beta=3", validation_accuracy=0.7801, test_accuracy=0.886)
    content = written(page, tmp_path / "near", first, near)
    assert "89.9 %, wanted 89.5 %. The value of β was a close call" in content["results-agreement"]
    assert (
        "Validation prefers β 10 to β 3 by 0.03 points, less than the standard error of 0.41 of one "
        "accuracy; with β 3 the test accuracy is 88.6." in content["results-screens"]
    )
    again = make_row(**pair, epochs=311, validation_accuracy=0.7882, test_accuracy=0.888)
    anew = written(page, tmp_path / "anew", first, near, again)["results-screens"]
    assert (
        "The runs of β 10 are separate ones: the longer does not go on with the shorter. By that of 311 "
        "epochs validation would have preferred β 3, with a test accuracy of 88.6." in anew
    )
    assert (
        "would have preferred" not in written(page, tmp_path / "sure", first, far, again)["results-screens"]
    )
    brief = make_row(**pair, epochs=8, epochs_run=8, best_epoch=8, validation_accuracy=0.5, test_accuracy=0.6)
    assert "separate" not in written(page, tmp_path / "brief", first, near, brief)["results-screens"]
    assert "close call" not in written(page, tmp_path / "far", first, far)["results-agreement"]
    assert "close call" not in written(page, tmp_path / "alone", first)["results-agreement"]


def test_narrow_choices_on_mnist_are_counted(page: ModuleType, tmp_path: Path, make_row: MakeRow) -> None:
    rows = [make_row(), make_row(hyper="beta=3", validation_accuracy=0.197, test_accuracy=0.966)]
    content = written(
        page, tmp_path, *rows, make_row(p=0.5), make_row(p=0.5, hyper="beta=3", validation_accuracy=0.1)
    )
    assert (
        "- Of 2 grids on MNIST, the value that validation puts second is within the standard error of one "
        "accuracy of the first in 1. The test accuracies of the two are then 1.0 points apart in the median, "
        "1.0 at most." in content["results-beyond"]
    )


def test_cells_of_fewer_seeds_or_values_are_left_too(
    page: ModuleType, tmp_path: Path, make_row: MakeRow
) -> None:
    ce = {"method": "ce", "hyper": "", "gap_auc": None}
    few = written(page, tmp_path, *(make_row(**ce, seed=seed) for seed in (0, 1)))["results-left"]
    assert re.search(r"\| MNIST \| CE at uniform:0\.8/48000 \| 3 \| \d+ minutes? \|", few)
    whole = written(page, tmp_path, *(make_row(**ce, seed=seed) for seed in (2, 3, 4)))["results-left"]
    assert "fewer seeds or values" not in whole


def test_time_of_causes_counts(page: ModuleType, tmp_path: Path, make_row: MakeRow) -> None:
    append_rows(rows_path(tmp_path, "mnist"), [make_row()])
    parts = {
        "labels": {"seeds": []},
        "norm": {"hardware": "h", "seconds": 120.0, "runs": [{"epochs_run": 30}, {"epochs_run": 4}]},
        "patience": {"hardware": "h", "runs": [{}]},
    }
    measured = replace(page.stored(tmp_path, ROOT / "results"), causes=parts)
    block = page.blocks(measured)["results-time"]
    assert "| MNIST, causes | h | 2 | 34 | 2 minutes |" in block
    assert "| MNIST, causes | h | 1 | not kept | not kept |" in block


def test_the_surest_detection_stands_beside_the_preferred(
    page: ModuleType, tmp_path: Path, make_row: MakeRow
) -> None:
    sampled = make_row(
        method="limit-l+s", hyper="beta=10 sigma=0.01", validation_accuracy=0.3, gap_auc=0.9991
    )
    said = written(page, tmp_path, sampled, make_row(), make_row(seed=1))["results-detection"]
    assert "| LIMIT-L + S, β 10, σ 0.01 | 0.9991 (1) |" in said
    assert "| LIMIT-L − S, β 10 | 0.9989 (2) |" in said
    assert said.count("| MNIST |") == 2


def test_time_is_compared_with_the_authors(page: ModuleType, tmp_path: Path, make_row: MakeRow) -> None:
    content = written(
        page, tmp_path, make_row(seconds=2.0), make_row(seed=1, seconds=2.0), make_row(n=1000, seconds=50.0)
    )
    assert "| MNIST | NVIDIA H200 | 3 | 600 | 1 minute |" in content["results-time"]
    assert "2 runs of 400 epochs in 1 minute, 0.01 s per epoch" in content["results-time"]
    assert "they would take 17 minutes, 260 × as long" in content["results-time"]


def test_runs_that_trained_alone_have_their_own_seconds(
    page: ModuleType, tmp_path: Path, make_row: MakeRow
) -> None:
    place = {"data": "cifar10", "p": 0.4, "n": 40_000, "network": "resnet-34"}
    rows = [make_row(**place, method="ce", hyper="", seconds=500.0), make_row(**place, seconds=440.0)]
    said = written(page, tmp_path, *rows)["results-time"]
    assert "1 runs of 200 epochs in 7 minutes, 2.2 s per epoch of a run alone, set-up" in said


def test_time_has_runs_that_only_figures_keep(page: ModuleType, tmp_path: Path, make_row: MakeRow) -> None:
    alone = make_row(network="mlp-4x512", epochs_run=150, seconds=7200.0)
    keep(kept_file(tmp_path, "curves"), [Kept(make_row(), "1/2"), Kept(alone, "1/2")])
    counts = "/".join([" ".join(["0"] * 40)] * 4)
    of_histograms = [Kept(alone, counts), Kept(make_row(quick=True, seed=3), counts)]
    keep(kept_file(tmp_path, "histograms"), of_histograms)
    said = written(page, tmp_path, make_row())["results-time"]
    assert "| MNIST | NVIDIA H200 | 1 | 200 | 1 minute |" in said
    assert "| MNIST, figures alone | NVIDIA H200 | 1 | 150 | 2.0 hours |" in said


def test_figures_show_what_was_kept_or_what_it_takes(
    page: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_row: MakeRow
) -> None:
    module = page.figures
    monkeypatch.setattr(module, "DOCS", tmp_path / "docs")
    place = tmp_path / "reproduce"
    measured = page.stored(place, ROOT / "results")
    empty = module.figures(measured, place)
    assert empty.count("Not run yet: ") == len(FIGURES) - 1
    curves = [
        Kept(make_row(method=method, hyper=hyper), "1000 2000/3000 9000")
        for method, hyper in (("ce", ""), ("limit-g", "beta=3"), ("limit-l", "beta=10"))
    ]
    keep(kept_file(place, "curves"), curves)
    bars = " ".join(["3"] * 40)
    keep(kept_file(place, "histograms"), [Kept(make_row(), "/".join([bars] * 4))])
    page.draw(place)
    drawn = sorted(path.stem for path in (place / "figures").glob("*.svg"))
    assert drawn == ["beta-sweep", "histograms-mnist", "learning-curves"]
    text = module.figures(measured, place)
    assert text.count("Not run yet: ") == len(FIGURES) - 4
    assert "](../reproduce/figures/learning-curves.svg)" in text
    assert "a ROC AUC of 0.9989" in text
    kept_file(place, "histograms").unlink()
    page.draw(place)
    assert not (place / "figures" / "histograms-mnist.svg").exists()


def test_the_published_charts_are_drawn_from_the_files(page: ModuleType) -> None:
    for figure in FIGURES.values():
        path = page.figures.picture(figure)
        drawn = figure.draw(page.figures.shown(figure)) if figure.kind is not None else None
        assert (path.read_text("utf-8") if path.exists() else None) == drawn, f"{path.name}: run make docs"


def test_a_cell_below_the_paper_s_shows_what_validation_could_see(
    page: ModuleType, tmp_path: Path, make_row: MakeRow
) -> None:
    seen = {"p": 0.89, "validation_accuracy": 0.107, "test_accuracy": 0.18, "hyper": "beta=1"}
    missed = {"p": 0.89, "validation_accuracy": 0.106, "test_accuracy": 0.27, "best_epoch": 7}
    blocks = written(page, tmp_path / "one", make_row(**seen), make_row(**missed))
    assert "that line): LIMIT-L − S at uniform:0.89/48000: 18.00" in blocks["results-agreement"]
    content = blocks["results-beyond"]
    assert line(content, "noisy validation, %") == "| noisy validation, % | 10.70 | 10.60 |"
    of_seed = line(content, "test, seed 0 (its epoch)")
    assert of_seed == "| test, seed 0 (its epoch) | 18.0 (100) | 27.0 (7) |"
    assert "clean test" not in content, "one seed is its own mean"
    assert "are 0.11 points on labels with this noise" in content
    assert "a standard error of 0.28," in content
    assert "27.0 with β 10, is number 2 of 2 by validation" in content
    more = [make_row(**{**seen, "seed": 1}), make_row(**{**missed, "seed": 1, "test_accuracy": 0.19})]
    content = written(page, tmp_path / "two", make_row(**seen), make_row(**missed), *more)["results-beyond"]
    assert line(content, "clean test, %") == "| clean test, % | 18.0 | 23.0 |"


def test_of_a_large_grid_the_first_by_validation_and_the_best_are_shown(
    page: ModuleType, tmp_path: Path, make_row: MakeRow
) -> None:
    values = [f"beta={beta:g} sigma={sigma:g}" for beta in (0, 1, 10) for sigma in (0.01, 0.03, 0.1, 0.3)]
    rows = [
        make_row(
            method="limit-l+s", hyper=hyper, p=0.89, validation_accuracy=0.11 - i / 1e4, test_accuracy=i / 100
        )
        for i, hyper in enumerate(values)
    ]
    content = written(page, tmp_path, *rows)["results-beyond"]
    assert "LIMIT-L + S at uniform:0.89/48000, by validation, the first 8 of 12 values and" in content
    assert line(content, "noisy validation, %").endswith("| 10.94 | 10.93 | 10.89 |")
    assert "11.0 with β 10, σ 0.3, is number 12 of 12" in content


def test_whole_sizes_and_tables_are_named_as_such(page: ModuleType) -> None:
    places_text = sys.modules["pages.results.places"].places_text  # the fixture imported it
    cells = {(cell.method, cell.problem): cell for cell in STUDIES["mnist"].cells}
    small = [cells[method, f"uniform:{p}/1000"] for method in ("ce", "mae") for p in (0, 0.5, 0.8, 0.89)]
    one, all_of_it = cells["fw", "uniform:0/1000"], [cell for key, cell in cells.items() if key[0] == "dmi"]
    assert places_text(dict.fromkeys([*small, one, *all_of_it], "")) == (
        "CE, MAE at n = 1,000; FW at uniform:0/1000; DMI at every problem"
    )
    assert places_text(dict.fromkeys([*small[:4], cells["ce", "uniform:0/48000"]], "")) == (
        "CE at n = 1,000, uniform:0/48000"
    )
    assert places_text({small[0]: "seed 1", small[1]: ""}) == (
        "CE at uniform:0/1000 (seed 1), uniform:0.5/1000"
    )


def test_cells_with_more_seeds_are_counted_by_those_of_all_too(
    page: ModuleType, tmp_path: Path, make_row: MakeRow
) -> None:
    rows = [make_row(test_accuracy=0.95), make_row(p=0.0, noise="none", test_accuracy=0.992)]
    assert "By the seeds alone" not in written(page, tmp_path, *rows)["results-agreement"]
    more = [make_row(seed=seed, test_accuracy=0.99) for seed in (1, 2)]
    said = written(page, tmp_path, *more)["results-agreement"]
    assert "- MNIST: 2 of the 2 cells of LIMIT" in said
    below = "LIMIT-L − S at uniform:0.8/48000: 95.00"
    assert f"all cells of a method have (LIMIT-L − S 0), 1 are; below: {below}" in said
    assert "allow to chance" not in said
    worse = [make_row(p=0.5, test_accuracy=0.5), make_row(p=0.89, test_accuracy=0.0)]
    said = written(page, tmp_path, *worse)["results-agreement"]
    assert said.count("**More than the 2 that we allow to chance.**") == 1, "by equal seeds alone"


def test_other_methods_below_or_above_the_paper_s_are_named(
    page: ModuleType, tmp_path: Path, make_row: MakeRow
) -> None:
    usual = {"method": "ce", "hyper": "", "gap_auc": None}
    rows = [make_row(**usual, test_accuracy=0.5), make_row(**usual, p=0.5, test_accuracy=0.972)]
    content = written(page, tmp_path, *rows, make_row(method="mae", hyper="", test_accuracy=0.99))
    said = next(text for text in content["results-beyond"].splitlines() if "other methods" in text)
    assert "1 of 3 cells are below the [line]" in said
    assert "CE at uniform:0.8/48000: 50.00, −37.2, line 84.91." in said
    assert said.endswith("As far above the paper's, 1: MAE at uniform:0.8/48000.")
    noisy = make_row(method="ce-gn", hyper="sigma=0.1", gap_auc=None, noise="none", p=0.0, test_accuracy=1.0)
    said = written(page, tmp_path, noisy)["results-beyond"]
    assert "As far above the paper's, 2: CE + GN at uniform:0/48000; MAE at uniform:0.8/48000. CE" in said
    assert "CE + GN and CE + LN are not quite the author's" in said


def test_detection_is_of_the_method_that_wins_on_common_seeds(
    page: ModuleType, tmp_path: Path, make_row: MakeRow
) -> None:
    better = [make_row(seed=seed, validation_accuracy=0.19 + 0.004 * seed) for seed in (0, 1)]
    lucky = make_row(method="limit-g", seed=1, validation_accuracy=0.193, gap_auc=0.9)
    content = written(page, tmp_path, *better, lucky)["results-detection"]
    assert "| LIMIT-L − S, β 10 | 0.9989 (2) |" in line(content, "MNIST")


def test_the_page_opens_with_the_time_that_the_author_s_code_takes(
    page: ModuleType, tmp_path: Path, make_row: MakeRow
) -> None:
    pair = make_row(epochs=100, epochs_run=100, seconds=2.6)  # 2.6 s an epoch there
    assert "takes 100 × (MNIST) as long" in written(page, tmp_path, pair)["results-short"]
    single = make_row(method="ce", hyper="", gap_auc=None, epochs_run=200, seconds=2.6)
    assert "takes 100 × (MNIST) as long" in written(page, tmp_path, single)["results-short"], (
        "a network counts as much as another"
    )

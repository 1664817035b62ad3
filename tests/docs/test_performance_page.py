"""The page on speed says what its result files say, whichever of them there are."""

import importlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

from noiselimit.bench.ceilings import Ceilings
from noiselimit.bench.counting import Cost
from noiselimit.bench.entries import timed_entry, with_shares
from noiselimit.bench.result import KIND, SCHEMA
from noiselimit.bench.rows import FIGURES
from noiselimit.bench.set_up import set_up_entry
from noiselimit.bench.timing import Timed
from noiselimit.bench.work import CIFAR_CE, CIFAR_LIMIT, DIGITS_LIMIT, MNIST, Work
from noiselimit.errors import InputError

DOCS = Path(__file__).resolve().parents[2] / "docs"
CEILINGS = Ceilings(4000.0, 800.0, "bfloat16", 2**30, 8192, (1.0,), (1.0,)).to_json()
COST = Cost(operations=1.6e12, bytes=2e10)  # 0.002 s and 0.005 s at these ceilings
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def page() -> ModuleType:
    sys.path.insert(0, str(DOCS))
    return importlib.import_module("pages.performance.page")


def entry(work: Work, runs: int, seconds: float, n: int = 48_000, **changes: Any) -> dict[str, Any]:
    """As the bench itself makes it, so that a change of its format is seen here."""
    epochs = (9.0, *[seconds * runs] * 3)
    facts = {"warm_up": 1, "parts": 1, "peak_memory": runs * 2**30, "peak_reserved": runs * 2**31}
    timed = Timed(work, runs, n, 12_000, 10_000, epochs, **{**facts, **changes}, whole_seconds=30.0)
    return with_shares(timed_entry(timed, COST), CEILINGS)


def row(name: str, measured: dict[str, Any]) -> dict[str, Any]:
    return {"row": name, **measured, "author": FIGURES[name].author, "aim": FIGURES[name].aim}


def set_up_row(state: str, seconds: float, work: Work = MNIST) -> dict[str, Any]:
    lines = [(0.1, "examples 48000"), (seconds + 1, "epoch"), (seconds + 2, "epoch"), (seconds + 3, "epoch")]
    return row(f"set-up-{state}", set_up_entry(state, lines, work))


def bench(*rows: dict[str, Any], points: tuple[dict[str, Any], ...] = (), **changes: Any) -> dict[str, Any]:
    return {
        "kind": KIND,
        "schema": SCHEMA,
        "date": "2020-01-02T00:00:00+00:00",
        "device": "a GPU",
        "device_type": "cuda",
        "versions": {"torch": "2.99"},
        "threads": 2,
        "commit": "0123456789abcdef",
        "changed": False,
        "quick": False,
        "precision": "bfloat16",
        "kernels": "auto",
        "graphs": "auto",
        "finished": True,
        "ceilings": CEILINGS,
        "rows": list(rows),
        "points": list(points),
        **changes,
    }


def gpu_bench() -> dict[str, Any]:
    tried = [entry(MNIST, 16, 0.013), entry(MNIST, 64, 0.01)]
    sweep = [{"sweep": "k", **entry(MNIST, k, 0.08 / k**0.5)} for k in (1, 4, 16, 64)]
    sweep.append({"sweep": "k", **entry(MNIST, 256, 0.006, parts=2)})
    sweep += [{"sweep": "n", **entry(MNIST, k, n * 1e-6, n)} for k in (1, 64) for n in (1_000, 8_000, 48_000)]
    return bench(
        row("mnist-cohort", {**tried[1], "tried": tried, "failures": []}),
        row("mnist-one", entry(MNIST, 1, 0.1)),
        row("cifar-limit", entry(CIFAR_LIMIT, 1, 2.2, 40_000)),
        {"row": "cifar-ce", "failure": "out of memory"},
        set_up_row("cold", 12.0),
        set_up_row("warm", 6.0),
        points=tuple(sweep),
    )


def cpu_bench() -> dict[str, Any]:
    ratio = {**entry(DIGITS_LIMIT, 8, 0.1, 1_150, peak_memory=None, peak_reserved=None), "ratio": 0.61}
    sides = {"medians_of": {"cohort": 4.8, "one after another": 7.87}, "threads": 2}
    step = {**entry(DIGITS_LIMIT, 1, 0.2, 1_150), "ratio": 2.4, "medians_of": {"limit": 0.24, "ce": 0.1}}
    rows = (
        row("digits-cohort", {**ratio, **sides}),
        row("digits-step", step),
        {**set_up_row("cold", 3.0), "aim": None},
    )
    return bench(*rows, device="a CPU, 2 cores", device_type="cpu")


def steps() -> list[dict[str, Any]]:
    ways = [
        {"precision": "float32", "kernels": "off", "graphs": "off"},
        {"precision": "bfloat16", "kernels": "off", "graphs": "off"},
        {"precision": "bfloat16", "kernels": "off", "graphs": "auto"},
        {"precision": "bfloat16", "kernels": "auto", "graphs": "auto"},
    ]
    return [
        bench(
            row("mnist-one", entry(MNIST, 1, 0.8 / 2**number, 5_120)),
            row("mnist-cohort", entry(MNIST, 8 if number < 3 else 32, 0.08 / 2**number, 5_120)),
            row("cifar-ce", entry(CIFAR_CE, 1, 0.9, 2_560)),
            quick=True,
            **way,
        )
        for number, way in enumerate(ways)
    ]


def precision_rows(plain: list[float], fast: list[float]) -> dict[str, Any]:
    common = {"method": "limit-l", "beta": 10, "seeds": [0, 1, 2]}
    paths = {"plain": plain, "fast": fast}
    rows = [
        {**common, "path": path, "test_accuracy": values, "gap_auc": [0.99] * 3}
        for path, values in paths.items()
    ]
    return {"device": "a GPU", "versions": {}, "epochs": 30, "noise": "uniform:0.8", "rows": rows}


def tiles() -> dict[str, Any]:
    tile = {"BM": 64, "BN": 32, "BK": 16, "num_warps": 4, "num_stages": 1}
    rows = [{"layer": "1 → 32", "product": "forward", "tile": tile, "microseconds": 141.7}]
    return {"device": "a GPU", "versions": {}, "networks": 80, "batch": 256, "rows": rows}


def history() -> dict[str, Any]:
    def measured(work: str, k: int, seconds: float, **more: Any) -> dict[str, Any]:
        return {"work": work, "k": k, "seconds": seconds, "epochs": 5, **more}

    both = [measured("cifar-limit", 1, 2.3, streams=1), measured("cifar-limit", 1, 2.1, streams=2)]
    cohorts = [measured("mnist-limit", 1, 0.07), measured("mnist-limit", 40, 0.01)]
    first = {"commit": "abc", "before": True, "by": "loop", "what": "plain"}
    second = {"commit": "def", "before": False, "by": "loop", "what": "kernels"}
    return {
        "device": "a GPU",
        "versions": {},
        "from": {"loop": "a loop"},
        "before": "a working tree",
        "recorded": "by hand",
        "rows": [
            {**first, "measured": [measured("mnist-limit", 1, 1.6)]},
            {**second, "measured": [*cohorts, *both]},
        ],
    }


TRIED_ROW = {"what": "wide | tiles", "work": "mnist", "k": 64, "seconds": 0.01, "kept": False}


def everything() -> dict[str, dict[str, Any]]:
    tried = [{**TRIED_ROW, "instead_seconds": 0.015}]
    compiled = {"compile_seconds": 40.0, "step_seconds": 0.01, "steps": 157, "our_epoch_seconds": 0.9}
    where = {"device": "a GPU", "versions": {"torch": "2.99"}}
    return {
        "bench-h200.json": gpu_bench(),
        "bench-cpu.json": cpu_bench(),
        **{f"bench-steps-{number + 1}.json": step for number, step in enumerate(steps())},
        "precision.json": precision_rows([0.970, 0.972, 0.974], [0.971, 0.972, 0.972]),
        "precision-cpu.json": precision_rows([0.970, 0.972, 0.974], [0.971, 0.973, 0.972]),
        "history.json": history(),
        "tiles.json": tiles(),
        "tried.json": {**where, "rows": tried},
        "compile.json": {**where, **compiled},
    }


def cells(block: str, beginning: str) -> list[str]:
    """The cells of the only table line that begins so."""
    [line] = [line for line in block.splitlines() if line.startswith(f"| {beginning}")]
    return [cell.strip().replace("\u00a0", " ") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


@pytest.fixture
def written(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    def write(results: dict[str, Any]) -> Path:
        for name, content in results.items():
            (tmp_path / name).write_text(json.dumps(content))
        return tmp_path

    return write


def test_without_files_every_section_says_which_is_missing(page: ModuleType, tmp_path: Path) -> None:
    found = page.blocks(page.stored(tmp_path))
    waiting = {name for name, block in found.items() if block.startswith("Not measured yet: results/")}
    assert waiting == set(found) - {"performance-counts"}
    assert page.drawn_charts(page.stored(tmp_path)) == {}


def test_each_file_fills_its_own_section(page: ModuleType, written: Callable[[dict[str, Any]], Path]) -> None:
    whole = everything()
    found = page.blocks(page.stored(written(whole)))
    assert not any("Not measured yet" in block for block in found.values())
    for missing in whole:
        less = page.blocks({name: content for name, content in whole.items() if name != missing})
        changed = {name for name, block in less.items() if block != found[name]}
        assert changed
        assert all(less[name] == f"Not measured yet: results/{missing}." for name in changed)


def test_a_file_that_is_something_else_is_no_gap(
    page: ModuleType, written: Callable[[dict[str, Any]], Path]
) -> None:
    with pytest.raises(InputError, match="no bench file"):
        page.stored(written({"bench-cpu.json": {"rows": []}}))


def test_the_table_holds_figures_against_author_and_aim(page: ModuleType) -> None:
    block = page.blocks(everything())["performance-table"]
    # 2e10 bytes in 0.01 s are 2000 of 4000 GB/s; 1.6e12 operations 160 of 800 TFLOP/s.
    cohort = ["64", "48,000", "2.6 s", "0.012 s", "0.01 s", "260 ×", "20.0 %", "50.0 %"]
    assert cells(block, "MNIST CNN, LIMIT-L, cohort")[1:] == cohort
    assert cells(block, "CIFAR-10, ResNet-34, CE")[5] == "failed"
    assert cells(block, "set-up before")[4:7] == ["20 s", "12 s", "–"]
    assert "Aims met: 4 of 5; missed: mnist-one. Without a figure: cifar-ce." in block
    assert "Cohorts measured: K = 16: 0.013 s, K = 64: 0.01 s." in block
    assert "cifar-ce failed: out of memory." in block
    assert "a GPU (torch 2.99; commit 0123456789; 2020-01-02)" in block


def test_a_quick_or_interrupted_bench_is_not_passed_off(page: ModuleType) -> None:
    doubtful = {**gpu_bench(), "quick": True, "finished": False, "changed": True}
    block = page.blocks({"bench-h200.json": doubtful})["performance-table"]
    assert "no figures to quote" in block
    assert "interrupted" in block
    assert "0123456789 with changes" in block


def test_what_gave_way_is_told_with_what_it_happened_to(page: ModuleType) -> None:
    whole = gpu_bench()
    tried = [entry(MNIST, 64, 0.01), entry(MNIST, 256, 0.02, notices=("no kernels.",))]
    whole["rows"][0] = row("mnist-cohort", {**tried[0], "tried": tried, "failures": []})
    whole["rows"][1] = row("mnist-one", entry(MNIST, 1, 0.1, notices=("no kernels.", "no recording.")))
    whole["points"][-1]["notices"] = ["no recording."]
    block = page.blocks({"bench-h200.json": whole})["performance-table"]
    assert "\n\nmnist-cohort, K = 256; mnist-one: no kernels." in block
    assert "\n\nmnist-one; sweep n, K = 64: no recording." in block
    assert page.blocks({"bench-h200.json": gpu_bench()})["performance-table"].count("no kernels") == 0


def test_a_commit_that_nobody_checked_is_told_so(page: ModuleType) -> None:
    block = page.blocks({"bench-h200.json": {**gpu_bench(), "changed": None}})["performance-table"]
    assert "commit 0123456789, not checked; 2020-01-02" in block


def test_floors_are_the_counted_work_at_the_ceilings(page: ModuleType) -> None:
    found = cells(page.blocks(everything())["performance-floors"], "MNIST CNN, LIMIT-L, cohort")
    assert found[1:] == ["1.6 TFLOP", "20 GB", "0.002 s", "0.005 s", "0.01 s", "2 ×"]


def test_steps_name_what_changed_and_what_it_brought(page: ModuleType) -> None:
    block = page.blocks(everything())["performance-steps"]
    assert cells(block, "float32 activations, launches one by one, torch's kernels")[1] == "0.8 s"
    assert cells(block, "then bfloat16 activations")[1] == "0.4 s (2 ×)"
    assert cells(block, "then recorded steps")[2] == "0.02 s, K = 8 (2 ×)"
    assert cells(block, "then our own kernels")[2:] == ["0.01 s, K = 32 (2 ×)", "0.9 s (1 ×)", "–"]
    assert cells(block, "together")[1:] == ["8 ×", "8 ×", "1 ×", "–"]
    assert "mnist-one 5,120; mnist-cohort 5,120; cifar-ce 2,560; cifar-limit –." in block


@pytest.mark.parametrize(
    ("fast", "paired", "within", "said"),
    [
        # Differences +0.1, 0, −0.2: their standard deviation is 0.1528.
        (
            [0.971, 0.972, 0.972],
            "−0.03 ± 0.09",
            "yes",
            ["2 of 2 rows are within. In no row are all seeds on one side."],
        ),
        # −0.1, −0.1, −0.15: within 2·√(s₁²/3 + s₂²/3), some 0.31, yet of one sign and beyond their own error.
        (
            [0.969, 0.971, 0.9725],
            "−0.12 ± 0.02",
            "yes",
            [
                "2 of 2 rows are within. ",
                "Beyond two standard errors of their own: fast: limit-l, test accuracy.",
                "one side in: fast: limit-l, test accuracy (lower); by chance alone, in 1 row of 4.",
            ],
        ),
        (
            [0.980, 0.981, 0.985],
            "+1.00 ± 0.06",
            "no",
            ["1 of 2 rows are within; not within: fast: limit-l, test accuracy.", "(higher)"],
        ),
    ],
)
@pytest.mark.parametrize("section", ["agreement", "agreement-cpu"])
def test_agreement_is_judged_by_the_spread_over_seeds(
    page: ModuleType, section: str, fast: list[float], paired: str, within: str, said: list[str]
) -> None:
    name = {"agreement": "precision.json", "agreement-cpu": "precision-cpu.json"}[section]
    results = {name: precision_rows([0.970, 0.972, 0.974], fast)}
    block = page.blocks(results)[f"performance-{section}"]
    accuracy = cells(block, "fast | limit-l | 10 | test accuracy")
    assert accuracy[4] == "97.20 ± 0.20"
    assert accuracy[-2:] == [paired, within]
    assert all(each in block for each in said)


def test_one_seed_has_no_spread_to_judge_by(page: ModuleType) -> None:
    results = precision_rows([0.970], [0.960])
    for each in results["rows"]:
        each.update(seeds=[0], gap_auc=[None])
    block = page.blocks({"precision.json": results})["performance-agreement"]
    assert cells(block, "fast | limit-l | 10")[4:] == ["97.00", "96.00", "−1.00", "–"]
    assert "0 of 0 rows are within." in block
    assert "one side" not in block


def test_paths_of_different_seeds_are_not_compared(page: ModuleType) -> None:
    results = precision_rows([0.9] * 3, [0.9] * 3)
    results["rows"][0]["seeds"] = [3, 4, 5]
    with pytest.raises(ValueError, match="different seeds"):
        page.blocks({"precision.json": results})


def test_what_was_tried_is_told_by_its_times(page: ModuleType) -> None:
    slower = page.blocks(everything())["performance-tried"]
    assert cells(slower, "wide")[-3:] == ["0.01 s", "0.015 s", "1.5 ×"]
    assert "Faster than the engine" not in slower
    rows = [{**TRIED_ROW, "instead_seconds": 0.009}]
    faster = page.blocks({"tried.json": {"device": "a GPU", "versions": {}, "rows": rows}})
    assert "Faster than the engine here: wide | tiles." in faster["performance-tried"]


def test_the_cpu_table_shows_ratios_with_their_sides(page: ModuleType) -> None:
    block = page.blocks(everything())["performance-cpu"]
    found = cells(block, "digits, LIMIT-L")
    assert found[1:] == ["cohort: 4.8 s; one after another: 7.87 s", "8", "1,150", "0.7", "0.61"]
    assert "Aims met: 1 of 2; missed: digits-step. Without a figure: set-up-warm." in block


def test_charts_hold_every_point_and_their_text_its_ends(page: ModuleType) -> None:
    results = everything()
    drawn = page.drawn_charts(results)
    assert set(drawn) == {"performance-k.svg", "performance-n.svg", "performance-memory.svg"}
    roots = {name: ElementTree.fromstring(text) for name, text in drawn.items()}
    lengths = {
        name: [len((line.get("points") or "").split()) for line in root.iter(f"{SVG}polyline")]
        for name, root in roots.items()
    }
    assert lengths == {
        "performance-k.svg": [5],
        "performance-n.svg": [3, 3],
        "performance-memory.svg": [5, 5],
    }
    under = {text.text for text in roots["performance-k.svg"].iter(f"{SVG}text")}
    assert {"1", "4", "16", "64", "256", "floor: 0.005 s"} <= under
    block = page.blocks(results)["performance-growth"]
    assert "K = 1: 0.08 s, K = 256: 0.006 s per run and epoch; least at K = 256: 0.006 s." in block
    assert "K = 64: n = 1,000: 0.001 s, n = 48,000: 0.048 s." in block
    assert "One more run reserves 2 GiB, from K = 16 to 64." in block
    assert "trained in parts: K = 256 (2)." in block
    assert all(f"({name})" in block for name in drawn)


def growth_of(page: ModuleType, **changes: Any) -> str:
    block: str = page.blocks({"bench-h200.json": {**gpu_bench(), **changes}})["performance-growth"]
    return block


def test_repeated_measurements_are_shown_side_by_side(page: ModuleType) -> None:
    assert "K = 16: 0.013 s, 0.02 s (53.8 % apart)" in growth_of(page).replace("\u00a0", " ")
    assert "apart" not in growth_of(page, rows=[], points=gpu_bench()["points"][:5])


def test_a_point_that_the_sweep_over_n_lacks_is_taken_from_the_one_over_k(page: ModuleType) -> None:
    points = [
        each for each in gpu_bench()["points"] if (each["sweep"], each["k"], each["n"]) != ("n", 64, 48_000)
    ]
    block = growth_of(page, points=points)
    assert (
        "K = 64: n = 1,000: 0.001 s, n = 48,000: 0.01 s. From the sweep over K: K = 64, n = 48,000." in block
    )
    drawn = ElementTree.fromstring(
        page.drawn_charts({"bench-h200.json": {**gpu_bench(), "points": points}})["performance-n.svg"]
    )
    assert [len((line.get("points") or "").split()) for line in drawn.iter(f"{SVG}polyline")] == [3, 3]
    assert "From the sweep over K" not in growth_of(page)


def test_what_dominates_small_n_is_said_where_it_shows(page: ModuleType) -> None:
    times = {1_000: 0.012, 2_000: 0.008, 8_000: 0.014, 48_000: 0.07}
    block = growth_of(page, points=[{"sweep": "n", **entry(MNIST, 1, s, n)} for n, s in times.items()])
    assert "of the smallest n at K = 1 up to n = 8,000 (8 × as many): there" in block
    assert "at K = 1 n = 1,000 takes 0.012 s and n = 2,000 0.008 s;" in block
    assert "dominates" not in growth_of(page)  # there, time is in proportion
    assert "not always faster" not in growth_of(page)


@pytest.mark.parametrize(("later", "told"), [(2**30, False), (2**30 + 2**27, True)])
def test_peaks_of_the_same_work_that_differ_are_told(page: ModuleType, later: int, told: bool) -> None:
    sweep = [{"sweep": "k", **entry(MNIST, k, 0.01)} for k in (1, 4)]
    sweep += [{"sweep": "n", **entry(MNIST, 1, 0.01, n, peak_memory=later)} for n in (1_000, 48_000)]
    block = growth_of(page, points=sweep)
    assert ("K = 1 with n = 48,000 has 1 to 1.12 GiB in tensors" in block) == told


def test_slower_activations_are_explained_only_where_they_are(page: ModuleType) -> None:
    assert "alone is slower" not in page.blocks(everything())["performance-steps"]
    ways = steps()
    ways[1]["rows"][0] = row("mnist-one", entry(MNIST, 1, 1.0, 5_120))
    slower = page.blocks({f"bench-steps-{number + 1}.json": way for number, way in enumerate(ways)})
    assert "bfloat16 alone is slower in 1 of 4 columns (0.8 ×), probably" in slower["performance-steps"]


def test_history_shows_each_state_with_its_figures(page: ModuleType) -> None:
    block = page.blocks(everything())["performance-history"]
    assert cells(block, "before `abc`")[1:] == ["plain", "loop", "K = 1: 1.6 s", "–", "–"]
    assert cells(block, "`def`")[3:] == ["K = 1: 0.07 s, K = 40: 0.01 s", "–", "2.1 s"]
    assert "at `def`: one after the other 2.3 s, side by side 2.1 s." in block.replace("\u00a0", " ")


def test_a_chart_without_points_does_not_stay_behind(page: ModuleType, tmp_path: Path) -> None:
    page.draw(everything(), tmp_path)
    assert len(list(tmp_path.glob("*.svg"))) == 3
    page.draw({}, tmp_path)
    assert not list(tmp_path.glob("*.svg"))


def test_the_drawn_charts_are_those_of_the_results(page: ModuleType) -> None:
    drawn = page.drawn_charts(page.stored())
    there = {path.name: path.read_text("utf-8") for path in DOCS.glob("performance-*.svg")}
    assert there == drawn, "the charts of performance.md are stale: run make docs"

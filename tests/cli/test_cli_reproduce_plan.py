"""noiselimit reproduce NAME --plan, and calls that train nothing."""

import json
import re
from pathlib import Path

import pytest

from noiselimit.reproduce.figures.kept import Kept, keep, kept_file
from noiselimit.reproduce.rows import HEADER, row_of
from noiselimit.reproduce.rows_file import append_rows, rows_path

RESULTS = Path(__file__).parents[2] / "results"
BENCH = RESULTS / "bench-h200.json"


def row(**changes):
    values = dict.fromkeys(HEADER.split(","), "")
    values |= {
        "data": "mnist",
        "noise": "uniform",
        "p": "0.8",
        "n": "48000",
        "method": "limit-l",
        "seed": "0",
    }
    values |= {"hyper": "beta=10", "epochs": "15", "patience": "100", "network": "mnist-cnn", "quick": "no"}
    values |= {"epochs_run": "15", "best_epoch": "9", "validation_accuracy": "0.19", "seconds": "1"}
    values |= {"validation_loss": "2.2", "test_accuracy": "0.9", "bootstrap_std": "0.003"}
    values |= {"precision": "float32", "date": "2026-11-15T12:00:00+00:00"}
    return row_of(list((values | changes).values()))


def test_a_plan_trains_nothing_and_names_methods(command, tmp_path):
    answer = command("reproduce", "mnist", "--plan", "--methods", "ce", "--seeds", "0,1")
    assert answer.code == 0
    assert answer.out.splitlines()[0] == "mnist n = 1000, seed 0, 4 runs of ce: –"
    assert answer.out.splitlines()[-1].startswith("24 of 24 runs are left")
    assert list(tmp_path.iterdir()) == []
    unknown = command("reproduce", "mnist", "--plan", "--budget-minutes", "5")
    assert "What fits into the budget is not known" in unknown.out


def test_a_plan_says_what_fits_into_the_budget_and_whose_times_these_are(command):
    arguments = ("mnist", "--plan", "--methods", "limit-g,limit-l", "--seeds", "0", "--bench", BENCH)
    budget = ("--budget-minutes", "2", "--device", "cpu")
    lines = command("reproduce", *arguments, *budget).out.splitlines()
    assert lines[0].startswith("mnist n = 1000, seed 0, 64 runs of limit-g, limit-l: about ")
    assert lines[0].endswith(" s")
    assert re.search(r": about [\d.]+ min, not within the budget$", lines[2])
    assert lines[-1].startswith("Times are those of another device, NVIDIA H200, by its bench: ")
    plan = json.loads(command("reproduce", *arguments, *budget, "--json").out)
    assert (plan["name"], plan["runs"], plan["runs_left"]) == ("mnist", 192, 192)
    assert plan["timed_on"] == "NVIDIA H200" != plan["device"]
    assert plan["scaled_from"] is None
    assert [cohort["budget"] for cohort in plan["cohorts"]] == ["whole", "whole", None]
    assert plan["cohorts"][0]["methods"] == ["limit-g", "limit-l"]
    assert plan["seconds"] == pytest.approx(sum(cohort["seconds"] for cohort in plan["cohorts"]))
    without = json.loads(command("reproduce", *arguments, "--json").out)
    assert {cohort["budget"] for cohort in without["cohorts"]} == {None}


def test_a_plan_says_that_its_times_are_of_another_network(command):
    arguments = ("reproduce", "mnist", "--plan", "--methods", "ce", "--seeds", "0", "--device", "cpu")
    here = ("--bench", RESULTS / "bench-cpu.json")
    lines = command(*arguments, *here).out.splitlines()
    assert all(re.search(r": ~\d0? (h|min)$", line) for line in lines[:4])
    assert lines[-1].startswith("~: scaled by the number of operations from small-cnn, since ")
    assert json.loads(command(*arguments, *here, "--json").out)["scaled_from"] == "small-cnn"
    quick = command(*arguments, *here, "--quick").out  # of that which was timed
    assert "~" not in quick
    assert "about" in quick


def test_a_figure_is_drawn_from_the_runs_there_are_without_training(command):
    keep(kept_file(Path("here"), "curves"), [Kept(row(), "1000 2000/3000 9000")])
    plan = command("reproduce", "beta-sweep", "--plan", "--out", "here").out.splitlines()
    assert plan[0].endswith("16 runs of limit-g, limit-l: –")
    assert "16 of 16 runs are left: –" in plan
    assert plan[-1] == "Runs that are there to draw: 1; --budget-minutes 0 draws and trains nothing."
    answer = command("reproduce", "beta-sweep", "--budget-minutes", "0", "--out", "here", "--quiet")
    assert answer.code == 0
    assert "beta-sweep: 0 runs trained, 16 left." in answer.out
    assert answer.out.endswith("16 left.\n"), "none was asked for"
    assert Path("here/figures/beta-sweep.svg").is_file()
    short = command("reproduce", "beta-sweep", "--budget-minutes", "0.1", "--out", "here", "--quiet")
    assert short.out.endswith("no time to train: give more than half a minute, or no --budget-minutes.\n")


def test_values_that_no_grid_has_are_refused(command):
    cells = ("reproduce", "mnist", "--cells", "uniform:0.8/48000", "--methods", "limit-g", "--seeds", "0")
    plan = command(*cells, "--values", "beta=10,beta=30", "--plan", "--out", "here")
    assert "2 of 2 runs are left: –" in plan.out
    answer = command(*cells, "--values", "beta=11", "--plan", "--out", "here")
    assert answer.code == 2
    assert answer.err.splitlines()[0].startswith("noiselimit: unknown value of these grids 'beta=11'")
    assert "choose one of beta=0, beta=0.1, beta=0.3," in answer.err
    answer = command("reproduce", "beta-sweep", "--values", "beta=10", "--plan", "--out", "here")
    assert answer.code == 2
    assert "values is given, but 'beta-sweep' is a figure: leave it out." in answer.err


def test_of_many_cells_without_a_screen_one_is_named(command):
    answer = command("reproduce", "mnist", "--finalists", "2", "--plan")
    assert answer.code == 2
    assert "nothing was run yet of ce-gn uniform:0/1000 and of 95 more: run a screen first" in answer.err


def test_finalists_need_a_screen(command):
    cells = ("--cells", "uniform:0.8/48000", "--methods", "ce,limit-g,limit-l", "--finalists", "2", "--plan")
    append_rows(rows_path(Path("here"), "mnist"), [row()])
    answer = command("reproduce", "mnist", *cells, "--out", "here")
    assert answer.code == 2
    assert len(answer.err.splitlines()) == 1
    assert "nothing was run yet of limit-g uniform:0.8/48000: run a screen first" in answer.err
    append_rows(rows_path(Path("here"), "mnist"), [row(method="limit-g")])
    assert command("reproduce", "mnist", *cells, "--out", "here").code == 0
    others = command("reproduce", "mnist", *cells, "--out", "here", "--values", "beta=30,beta=100")
    assert others.code == 2  # of these nothing was


def test_more_epochs_than_the_paper_has_are_refused(command):
    answer = command("reproduce", "clothing1m", "--epochs", "31", "--plan")
    assert answer.code == 2
    assert answer.err == "noiselimit: --epochs is 31, but clothing1m has at most 30: give fewer.\n"

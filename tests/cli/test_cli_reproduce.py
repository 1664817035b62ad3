"""noiselimit reproduce: list, merge, NAME."""

import json

import pytest

from noiselimit.reproduce.rows import HEADER


def test_the_list_names_tables_and_figures(command):
    answer = command("reproduce", "list", "--json", "--device", "cpu")
    assert answer.code == 0
    states = {state["name"]: state for state in json.loads(answer.out)}
    assert list(states)[:4] == ["mnist", "cifar10", "cifar100", "clothing1m"]
    assert (states["mnist"]["runs"], states["mnist"]["done"]) == (6900, 0)
    assert states["fano"]["kind"] == "figure"
    assert states["mnist"]["hours"] is None  # no bench file here
    assert "Hours are not known" in command("reproduce", "list", "--quick").out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("mnis",), "did you mean 'mnist'?"),
        (("mnist", "--methods", "limit"), "unknown method of this table 'limit'"),
        (("mnist", "--cells", "pair:0.4"), "has no cell 'pair:0.4'"),
        (("mnist", "--seeds", "a"), "seeds is 'a'"),
        (("mnist", "--seeds=-1"), "give whole numbers ≥ 0"),
        (("mnist", "--epochs", "0"), "epochs is 0"),
        (("mnist", "--budget-minutes", "nan"), "budget-minutes"),
        (("fano", "--seeds", "1"), "'fano' is a figure"),
        (("mnist", "--bench", "none.json"), "none.json is no file"),
        (("mnist", "--quiet"), "no data folder is named"),
        (("merge", "none.csv"), "there is no file or folder none.csv"),
    ],
)
def test_mistakes_are_one_sentence(command, arguments, complaint):
    answer = command("reproduce", *arguments)
    assert answer.code == 2
    assert complaint in answer.err
    assert len(answer.err.splitlines()) == 1


def test_a_plan_trains_nothing(command, tmp_path):
    answer = command("reproduce", "mnist", "--plan", "--methods", "ce", "--seeds", "0,1")
    assert answer.code == 0
    assert answer.out.splitlines()[0] == "mnist n = 1000, seed 0, 4 runs: –"
    assert answer.out.splitlines()[-1].startswith("24 of 24 runs are left")
    assert list(tmp_path.iterdir()) == []


def test_a_quick_table_ends_in_rows_a_table_and_is_merged(command, tmp_path):
    arguments = ("--quick", "--cells", "uniform:0.8/1000", "--threads", "1", "--quiet", "--device", "cpu")
    answer = command("reproduce", "mnist", *arguments, "--methods", "ce,limit-l", "--json")
    assert answer.code == 0
    content = json.loads(answer.out)
    assert (content["runs_trained"], content["runs_left"]) == (3, 0)
    assert [cell["method"] for cell in content["cells"]] == ["ce", "limit-l"]
    again = command("reproduce", "mnist", *arguments, "--methods", "ce,limit-l")
    assert "mnist: 0 runs trained, 0 left." in again.out
    assert "27.0 ± 3.8" in again.out
    path = tmp_path / "runs" / "reproduce-quick" / "mnist.csv"
    assert path.read_text().startswith(HEADER)
    merged = command("reproduce", "merge", path, "--out", "elsewhere", "--json")
    assert json.loads(merged.out) == {"mnist.csv": 3}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("mnist", "uniform:0/1000,uniform:0.8/48000"),
        ("cifar10", "uniform:0,pair:0.4"),
        ("cifar100", "uniform:0.4"),
        ("clothing1m", "real"),
    ],
)
def test_every_table_runs_quickly(command, name, cells):
    answer = command(
        "reproduce", name, "--quick", "--cells", cells, "--threads", "1", "--quiet", "--device", "cpu"
    )
    assert answer.code == 0
    assert ", 0 left." in answer.out

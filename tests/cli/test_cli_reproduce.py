"""noiselimit reproduce: list, merge, NAME."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from noiselimit.reproduce.rows import HEADER
from noiselimit.reproduce.rows_file import append_rows, rows_path
from noiselimit.reproduce.studies import STUDIES


def test_the_list_names_tables_and_figures(command):
    answer = command("reproduce", "list", "--json", "--device", "cpu")
    assert answer.code == 0
    states = {state["name"]: state for state in json.loads(answer.out)}
    assert list(states)[:4] == ["mnist", "cifar10", "cifar100", "clothing1m"]
    assert (states["mnist"]["runs"], states["mnist"]["done"]) == (6900, 0)
    assert states["fano"]["kind"] == "figure"
    assert states["mnist"]["hours"] is None  # no bench file here
    assert "Times are not known" in command("reproduce", "list", "--quick").out


def test_times_are_told_in_a_unit_that_says_something(command):
    bench = Path(__file__).parents[2] / "results" / "bench-cpu.json"
    arguments = ("reproduce", "list", "--device", "cpu", "--bench", bench)
    whole, quick = (command(*arguments, *more).out for more in ((), ("--quick",)))
    assert re.search(r"^mnist +6900 +0 +~[\d,]+ h +~[\d,]+ h ", whole, re.MULTILINE)
    assert re.search(r"^mnist +204 +0 +[\d.]+ min +[\d.]+ min ", quick, re.MULTILINE)
    assert re.search(r"^cifar100 +13 +0 +\d+ s +\d+ s ", quick, re.MULTILINE)
    assert re.search(r"^fano +0 +0 +0 +0 ", quick, re.MULTILINE)
    states = json.loads(command(*arguments, "--quick", "--json").out)
    assert 0 < states[0]["hours"] < 0.1


@pytest.mark.parametrize(
    ("bench", "timed", "scaled"),
    [("cpu", (), ("mnist", "cifar10")), ("h200", ("mnist", "cifar10"), ("clothing1m", "memorisation"))],
)
def test_times_of_networks_that_were_not_timed_are_marked(command, bench, timed, scaled):
    path = Path(__file__).parents[2] / "results" / f"bench-{bench}.json"
    arguments = ("reproduce", "list", "--device", "cpu", "--bench", path)
    lines = command(*arguments).out.splitlines()
    shown = {line.split()[0]: line.split()[3] for line in lines}
    assert {name: shown[name].startswith("~") for name in (*timed, *scaled)} == {
        **dict.fromkeys(timed, False),
        **dict.fromkeys(scaled, True),
    }
    assert all(len(shown[name].strip("~0,")) == 1 for name in scaled), "no more digits than are known"
    networks = ["small-cnn", "small-cnn"] if bench == "cpu" else ["resnet-34", "mnist-cnn"]
    named = " or ".join(dict.fromkeys(networks))
    assert lines[-1].startswith(f"~: scaled by the number of operations from {named}, since ")
    sources = {state["name"]: state["scaled_from"] for state in json.loads(command(*arguments, "--json").out)}
    assert [sources[name] for name in scaled] == networks
    assert {sources[name] for name in (*timed, "fano")} == {None}


@pytest.mark.parametrize("place", ["taken", "taken/deeper"])
@pytest.mark.parametrize("more", [(), ("--plan",), ("--budget-minutes", "0")])
def test_an_out_that_is_a_file_is_told_of_before_anything_is_trained(command, tmp_path, place, more):
    Path("taken").touch()
    answer = command("reproduce", "mnist", "--quick", "--quiet", "--device", "cpu", "--out", place, *more)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "noiselimit: taken is no folder, so no results can be put there: name another by --out.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_an_out_that_cannot_be_written_to_is_told_of_too(command, tmp_path):
    Path("link").symlink_to("nowhere")
    answer = command("reproduce", "mnist", "--quick", "--quiet", "--device", "cpu", "--out", "link")
    assert answer.code == 2
    assert "cannot write to folder link (a link that leads nowhere)" in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


@pytest.mark.parametrize("place", ["taken", "taken/deeper"])
@pytest.mark.parametrize(
    "what",
    [
        ("mnist",),
        ("mnist", "--plan"),
        ("mnist", "--budget-minutes", "0"),
        ("memorisation", "--plan"),
        ("fano",),
    ],
)
def test_runs_that_are_a_file_are_told_of_though_nothing_is_trained(command, tmp_path, place, what):
    Path("taken").touch()
    places = ("--out", "results/here", "--runs", place)
    answer = command("reproduce", *what, "--quick", "--quiet", "--device", "cpu", *places)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "noiselimit: taken is no folder, so nothing can be trained there: name another by --runs.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("mnis",), "did you mean 'mnist'?"),
        (("mnist", "--methods", "limit"), "unknown method of this table 'limit'"),
        (("mnist", "--cells", "pair:0.4"), "has no cell 'pair:0.4'"),
        (("mnist", "--seeds", "a"), "seeds is 'a'"),
        (("mnist", "--seeds=-1"), "--seeds is -1: give whole numbers ≥ 0"),
        (("list", "--seeds=0,-1"), "--seeds is 0,-1: give whole numbers ≥ 0"),
        (("mnist", f"--seeds={2**63}"), f"--seeds is {2**63}: give whole numbers from 0 to {2**63 - 1}."),
        (("list", f"--seeds=0,{10**20}"), f"--seeds is 0,{10**20}: give whole numbers from 0 to"),
        (("mnist", "--epochs", "0"), "epochs is 0"),
        (("mnist", "--epochs", "abc"), "--epochs is 'abc': give a whole number."),
        (("mnist", "--finalists", "1.5"), "--finalists is '1.5': give a whole number."),
        (("mnist", "--threads", "two"), "--threads is 'two': give a whole number."),
        (("mnist", "--budget-minutes", "ten"), "--budget-minutes is 'ten': give a number."),
        (("mnist", "--bogus"), "unknown option '--bogus': choose one of --bench, "),
        (("mnist", "--epohcs", "3"), "unknown option '--epohcs': did you mean '--epochs'?"),
        (("--quick", "mnist"), "--quick comes after a command: see 'noiselimit reproduce --help'."),
        (("run", "list"), "'list' is no table or figure: type 'noiselimit reproduce list'."),
        (("run", "merge"), "'merge' is no table or figure: type 'noiselimit reproduce merge'."),
        (("lst",), "unknown table, figure or command 'lst': did you mean 'list'?"),
        (("mask",), "unknown table, figure or command 'mask': choose one of beta-sweep, "),
        (("mnist", "--budget-minutes", "nan"), "--budget-minutes is nan: give a number ≥ 0."),
        (("mnist", "--budget-minutes", "inf"), "--budget-minutes is inf: give a finite number ≥ 0."),
        (("mnist", "--quick", "--threads", "0"), "--threads is 0: give a whole number from 1 to 1024"),
        (("mnist", "--quick", "--threads", "1025"), "--threads is 1025: give a whole number from 1 to 1024"),
        (("fano", "--seeds", "1"), "'fano' is a figure"),
        (("fano", "--epochs", "3"), "--epochs is given, but nothing is trained for 'fano': leave it out"),
        (("fano", "--budget-minutes", "5"), "--budget-minutes is given, but nothing is trained for 'fano'"),
        (("mnist", "--bench", "none.json"), "none.json is no file"),
        (("mnist", "--quiet"), "no data folder is named"),
        (("merge", "none.csv"), "there is no file or folder none.csv"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(command, tmp_path, arguments, complaint):
    answer = command("reproduce", *arguments)
    assert answer.code == 2
    assert complaint in answer.err
    assert len(answer.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("always::noiselimit.errors.Notice")
def test_a_quick_table_ends_in_rows_a_table_and_is_merged(command, tmp_path):
    arguments = ("--quick", "--cells", "uniform:0.8/1000", "--threads", "1", "--quiet", "--device", "cpu")
    answer = command("reproduce", "mnist", *arguments, "--methods", "ce,limit-l", "--json")
    assert answer.code == 0
    content = json.loads(answer.out)
    assert (content["runs_trained"], content["runs_left"]) == (3, 0)
    assert [cell["method"] for cell in content["cells"]] == ["ce", "limit-l"]
    assert {(cell["paper"] is None, cell["difference"], cell["meets"]) for cell in content["cells"]} == {
        (False, None, None)
    }
    again = command("reproduce", "mnist", *arguments, "--methods", "ce,limit-l")
    assert "mnist: 0 runs trained, 0 left." in again.out
    assert re.search(r"27\.0 ± 3\.8 +– ", again.out), "no difference: the paper's is of other data"
    path = tmp_path / "runs" / "reproduce-quick" / "mnist.csv"
    assert path.read_text().startswith(HEADER)
    merged = command("reproduce", "merge", path, "--out", "elsewhere", "--json")
    assert "mnist.csv has quick trials, which count for nothing: " in merged.err
    assert json.loads(merged.out) == {"mnist.csv": 3}
    again = command("reproduce", "merge", path.parent, "--out", "elsewhere")
    assert again.code == 0
    assert "mnist.csv: 0 added." in again.out
    assert again.out.endswith("Nothing was added.\n")


def test_one_run_is_spoken_of_as_one(command):
    arguments = ("reproduce", "mnist", "--quick", "--cells", "uniform:0.8/1000", "--methods", "ce")
    how = ("--threads", "1", "--quiet", "--device", "cpu")
    assert "\n1 of 1 runs is left" in command(*arguments, *how, "--plan").out
    assert "mnist: 1 run trained, 0 left." in command(*arguments, *how).out
    assert "0 of 1 runs are left" in command(*arguments, *how, "--plan").out


def failed_row(rate):
    """A quick trial of DMI that failed in its first epoch."""
    values = dict.fromkeys(HEADER.split(","), "")
    values |= {"data": "mnist", "noise": "uniform", "p": "0.8", "n": "1000", "method": "dmi", "seed": "0"}
    values |= {"hyper": f"learning_rate={rate}", "epochs": "3", "patience": "2", "network": "small-cnn"}
    values |= {"quick": "yes", "epochs_run": "1", "best_epoch": "0", "seconds": "1", "failure": "not finite"}
    values |= {"precision": "float32", "date": "2026-11-15T12:00:00+00:00"}
    return ",".join(values.values())


def test_a_cell_of_which_all_runs_failed_is_shown_as_failed(command, tmp_path):
    place = tmp_path / "runs" / "reproduce-quick"
    place.mkdir(parents=True)
    (place / "mnist.csv").write_text("\n".join([HEADER, failed_row("0.001"), failed_row("0.0001"), ""]))
    arguments = (
        "reproduce",
        "mnist",
        "--quick",
        "--cells",
        "uniform:0.8/1000",
        "--methods",
        "dmi",
        "--quiet",
    )
    answer = command(*arguments)
    assert answer.code == 0
    assert "failed (2)" in answer.out
    assert "2 runs failed in their first epoch and count for nothing; they are not run again." in answer.out
    content = json.loads(command(*arguments, "--json").out)
    runs = [["learning_rate=0.001", 0], ["learning_rate=0.0001", 0]]
    assert content["failed_cells"] == [{"problem": "uniform:0.8/1000", "method": "dmi", "failed_runs": runs}]
    assert content["cells"] == []
    (place / "mnist.csv").write_text("\n".join([HEADER, failed_row("0.001"), ""]))
    one = command(*arguments, "--budget-minutes", "0").out
    assert "1 run failed in its first epoch and counts for nothing; it is not run again." in one


@pytest.mark.filterwarnings("always::noiselimit.errors.Notice")
def test_a_merged_row_of_another_patience_does_not_count(command, make_row):
    own = make_row(method="ce", hyper="", n=1000)
    other = replace(own, patience=50, validation_accuracy=0.1, test_accuracy=0.5)
    append_rows(rows_path(Path("here"), "mnist"), [own])
    append_rows(rows_path(Path("elsewhere"), "mnist"), [other])
    merged = command("reproduce", "merge", "elsewhere", "--out", "here")
    assert "got 1 run that no table compares: ce with mnist-cnn, patience 50" in merged.err
    arguments = ("--methods", "ce", "--cells", "uniform:0.8/1000", "--budget-minutes", "0", "--out", "here")
    answer = command("reproduce", "mnist", *arguments, "--json")
    assert answer.code == 0
    content = json.loads(answer.out)
    assert content["runs_left"] == 4
    (cell,) = content["cells"]
    assert (cell["seeds"], cell["accuracy"]) == ([0], pytest.approx(97.6))
    assert (cell["difference"], cell["meets"]) == (pytest.approx(97.6 - 27.0), True)


HERE = ("--cells", "uniform:0.8/1000", "--budget-minutes", "0", "--out", "here")


def test_a_result_says_by_how_many_epochs_it_was_come_to(command, make_row):
    """CE was trained before, by the whole protocol, and LIMIT-L as this call allows it."""
    whole = make_row(method="ce", hyper="", n=1000, epochs=400, epochs_run=105)
    cut = make_row(n=1000, epochs=2, epochs_run=2, best_epoch=1)
    append_rows(rows_path(Path("here"), "mnist"), [whole, cut, replace(cut, seed=1, epochs=9, epochs_run=9)])
    arguments = ("reproduce", "mnist", "--methods", "ce,limit-l", *HERE)
    for asked in (("--epochs", "2"), ()):
        ce, limit = json.loads(command(*arguments, *asked, "--json").out)["cells"]
        assert (ce["epochs"], ce["epochs_allowed"], ce["epochs_run"], ce["meets"]) == (
            400,
            [400],
            [105],
            True,
        )
        assert (limit["epochs"], limit["epochs_allowed"], limit["epochs_run"]) == (2, [2, 9], [2, 9])
        assert limit["meets"] is None, "fewer epochs than the paper's may do better or worse"
        assert {ce["protocol_epochs"], limit["protocol_epochs"]} == {400}
        lines = command(*arguments, *asked).out.splitlines()
        assert lines[0].split()[3:5] == ["seeds", "epochs"]
        assert " 105 of 400 " in lines[1]
        assert " 2–9 of 2–9 " in lines[2]
        assert lines[3].startswith("epochs: taken, of those allowed; the paper allows 400. What fewer ended ")


def test_epochs_are_not_told_where_all_runs_were_allowed_the_papers(command, make_row):
    rows = [make_row(method="ce", hyper="", n=1000, epochs_run=105), make_row(n=1000)]
    append_rows(rows_path(Path("here"), "mnist"), rows)
    lines = command("reproduce", "mnist", "--methods", "ce,limit-l", *HERE).out.splitlines()
    assert lines[0].split()[3:5] == ["seeds", "test,"]
    assert not any("epochs" in line for line in lines)
    append_rows(rows_path(Path("here"), "mnist"), [make_row(n=1000, seed=1, epochs=150, epochs_run=120)])
    lines = command("reproduce", "mnist", "--methods", "limit-l", *HERE).out.splitlines()
    assert " 120–200 of 150–400 " in lines[1]
    assert lines[2] == "epochs: taken, of those allowed; the paper allows 400.", "no run was ended by them"


def test_quick_trials_and_whole_runs_are_not_put_into_one_folder(command, make_row):
    append_rows(rows_path(Path("here"), "mnist"), [make_row()])
    arguments = ("reproduce", "mnist", "--methods", "ce", "--cells", "uniform:0.8/1000", "--device", "cpu")
    refused = command(*arguments, "--quick", "--out", "here")
    assert (refused.code, refused.out) == (2, "")
    assert "here has whole runs (mnist.csv), and quick trials count for nothing: give these a" in refused.err
    assert command(*arguments, "--quick", "--out", "here", "--plan").code == 0, "nothing is written"
    assert command(*arguments, "--quick", "--out", "other", "--quiet").code == 0
    refused = command(*arguments, "--out", "other")
    assert (refused.code, refused.out) == (2, "")
    assert "other has quick trials (mnist.csv), which count for nothing: give whole runs a" in refused.err


LEARNED = 80.0
"""Per cent: all methods have over 90 on digits with right labels, and chance has 10."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("mnist", "uniform:0/48000,uniform:0.8/1000"),
        ("cifar10", "uniform:0/40000,pair:0.4"),
        ("cifar100", "uniform:0.4"),
        ("clothing1m", "real"),
    ],
)
def test_every_table_runs_quickly_and_right_labels_are_learned(command, name, cells):
    answer = command(
        *("reproduce", name, "--quick", "--cells", cells),
        *("--threads", "1", "--quiet", "--device", "cpu", "--json"),
    )
    assert answer.code == 0
    content = json.loads(answer.out)
    assert content["runs_left"] == 0
    accuracies = {cell["method"]: cell["accuracy"] for cell in content["cells"] if ":0/" in cell["problem"]}
    assert set(accuracies) == (set(STUDIES[name].methods) if "uniform:0/" in cells else set())
    assert all(accuracy > LEARNED for accuracy in accuracies.values()), accuracies

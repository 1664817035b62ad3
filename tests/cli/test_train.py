"""noiselimit train: grids, folders, the table, --config and --resume."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from noiselimit import load_run
from noiselimit.cli.train import FILE

FAST = ("--epochs", "2", "--quiet")


def only_run(folder: str = "runs"):
    return load_run(next(Path(folder).glob("*-seed*")))


def test_a_logger_writes_beside_the_runs(command, table):
    assert command("train", "--data", table, "--logger", "csv", *FAST).code == 0
    assert [path.parent.name for path in Path("runs/logs").glob("*/metrics.csv")] == [only_run().path.name]
    answer = command("train", "--data", table, "--logger", "cvs", "--out", "other", *FAST)
    assert (answer.code, Path("other").exists()) == (2, False)
    assert "'csv'" in answer.err


def test_a_grid_becomes_run_folders_a_table_and_a_report(command, table):
    grid = ("--method", "ce,limit-l", "--beta", "1,10", "--seed", "0,1")
    answer = command("train", "--data", table, *grid, *FAST)
    assert (answer.code, answer.err) == (0, "")
    folders = sorted(Path("runs").glob("*-seed*"))
    assert len(folders) == 6  # cross-entropy has no β
    assert all(answer.out.count(str(folder)) == 1 for folder in folders)
    assert answer.out.count("★ ") == 2 + 1  # the two seeds of one setting, and the legend
    assert Path("runs/report.html").exists()
    assert not list(Path("runs").glob(".*"))


def test_json(command, table):
    summary = json.loads(command("train", "--data", table, "--beta", "1,10", "--json", *FAST).out)
    assert [run["beta"] for run in summary] == [1, 10]
    assert sum(run["chosen"] for run in summary) == 1
    assert {run["folder"] for run in summary} == {path.name for path in Path("runs").glob("limit-l*")}


def test_existing_runs_are_not_trained_again(command, table):
    typed = ("train", "--data", table, "--seed", "0,1", *FAST)
    first = command(*typed)
    written = {path: path.stat().st_mtime_ns for path in Path("runs").glob("*/*")}
    second = command(*typed)
    assert second.code == 0
    assert "2 of 2 runs existed" in second.out
    assert set(first.out.splitlines()) < set(second.out.splitlines())
    assert {path: path.stat().st_mtime_ns for path in Path("runs").glob("*/*")} == written


def test_a_failed_run_is_reported_and_the_others_finish(command, table):
    answer = command("train", "--data", table, "--optimiser", "sgd", "--learning-rate", "1e30,0.1", *FAST)
    assert answer.code == 1
    lines = answer.out.splitlines()
    assert sum(line.startswith("★ limit-l") for line in lines) == 1
    [failed] = [line for line in lines if line.startswith("failed: ")]
    assert Path(failed.split(": ")[1]).is_dir()


def test_settings_that_do_not_act_make_no_second_run(command, table):
    idle = ("--method", "ce,limit-l", "--predictor-network", "mlp,linear")
    answer = command("train", "--data", table, *idle, "--epochs", "1", "--json", "--quiet")
    assert [run["method"] for run in json.loads(answer.out)] == ["ce", "limit-l", "limit-l"]


def test_a_config_file_holds_the_same_options(command, table):
    Path("c.toml").write_text(
        f"data = '{table}'\nmethod = ['ce', 'limit-l']\nbeta = [1, 2.5]\nepochs = 1\nbatch-size = 32\n"
        "learning_rate = 0.5\nout = 'there'\nquiet = true\njson = true\n"
    )
    answer = command("train", "--config", "c.toml")
    assert len(json.loads(answer.out)) == 3
    runs = [load_run(path) for path in Path("there").glob("*-seed*")]
    assert sorted(run.spec.hyper.get("beta", 0) for run in runs) == [0, 1, 2.5]
    assert {(run.spec.batch_size, run.spec.learning_rate) for run in runs} == {(32, 0.5)}


def test_the_command_line_wins_over_a_config_file(command, table):
    Path("c.toml").write_text("data = 'nowhere.npz'\nepochs = 50\nbeta = 3\n")
    assert command("train", "--epochs", "1", "--config", "c.toml", "--data", table, "--quiet").code == 0
    assert only_run().spec.epochs == 1
    assert only_run().spec.hyper == {"beta": 3}


@pytest.mark.parametrize("option", ["network", "predictor_features", "method", "noise", "device"])
@pytest.mark.parametrize("form", ["evilmod.build", "evilmod:build", "linear,evilmod.build"])
def test_resume_imports_no_code_that_a_file_names(command, table, monkeypatch, option, form):
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("evilmod.py").write_text("open('it-ran', 'w').close()\ndef build(*_):\n    raise ValueError\n")
    Path("runs").mkdir()
    options = {"data": str(table), "method": "ce", "epochs": "1", option: form}
    Path("runs", FILE).write_text(json.dumps({"format": 1, "folder": str(Path.cwd()), "options": options}))
    assert command("train", "--resume", "runs").code == 2
    assert not Path("it-ran").exists()


def test_all_mistakes_of_a_config_file_are_listed(command):
    Path("c.toml").write_text(
        "learning_rte = 1\nconfig = 'd.toml'\nbeta = [[1]]\nseed = true\nnoise = []\nquiet = 1\nepochs = 1\n"
    )
    answer = command("train", "--config", "c.toml")
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    for word in ("'learning-rate'", "'config'", "beta must", "seed must", "noise must", "quiet must"):
        assert word in answer.err
    assert "epochs must" not in answer.err


@pytest.mark.parametrize(("kind", "bar"), [("xterm-256color", True), ("dumb", False)])
def test_a_terminal_shows_a_bar(program, table, kind, bar):
    shown, terminal = pty.openpty()
    ended = subprocess.run(
        [*program, "train", "--data", table, "--epochs", "3"],
        stdout=subprocess.PIPE,
        stderr=terminal,
        env={**os.environ, "TERM": kind, "COLUMNS": "80"},
        timeout=60,
        text=True,
    )
    os.close(terminal)
    output = b""
    try:
        while piece := os.read(shown, 65536):
            output += piece
    except OSError:  # Linux reports the closed end like this
        pass
    os.close(shown)
    assert ended.returncode == 0
    assert "\x1b" not in ended.stdout
    assert (b"3/3" in output) == bar

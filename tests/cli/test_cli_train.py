"""noiselimit train: grids, folders, the table, what exists, failures and Ctrl-C."""

import json
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from noiselimit import load_run

FAST = ("--epochs", "2", "--quiet")


def test_a_grid_becomes_run_folders_a_table_and_a_report(command, table):
    answer = command(
        "train", "--data", table, "--method", "ce,limit-l", "--beta", "1,10", "--seed", "0,1", *FAST
    )
    assert answer.code == 0
    assert answer.err == ""
    folders = sorted(Path("runs").glob("*-seed*"))
    assert len(folders) == 6  # cross-entropy has no β
    for folder in folders:
        assert answer.out.count(str(folder)) == 1
    assert answer.out.count("★ ") == 2 + 1  # the two seeds of one setting, and the legend
    assert Path("runs/report.html").exists()
    assert not list(Path("runs").glob(".*"))


def test_on_digits(command):
    answer = command("train", "--data", "digits", "--train-size", "128", "--out", "there", *FAST)
    assert answer.code == 0
    assert load_run(next(Path("there").glob("limit-l*"))).spec.train_size == 128


def test_settings_that_differ_are_columns(command, table):
    answer = command("train", "--data", table, "--learning-rate", "0.01,0.001", "--noise", "none", *FAST)
    header, *lines = (
        line.split() for line in answer.out.splitlines() if "limit-l" in line or "method" in line
    )
    assert "rate" in header
    assert "noise" not in header
    assert {"0.01", "0.001"} <= {word for line in lines for word in line}


def test_json(command, table):
    answer = command("train", "--data", table, "--beta", "1,10", "--json", *FAST)
    summary = json.loads(answer.out)
    assert [run["beta"] for run in summary] == [1, 10]
    assert sum(run["chosen"] for run in summary) == 1
    assert {run["folder"] for run in summary} == {path.name for path in Path("runs").glob("limit-l*")}


def test_what_exists_is_not_trained_again(command, table, monkeypatch):
    first = command("train", "--data", table, "--seed", "0,1", *FAST)
    written = {path: path.stat().st_mtime_ns for path in Path("runs").glob("*/*")}

    def no_training(*arguments, **settings):
        raise AssertionError("trained again")

    monkeypatch.setattr("noiselimit.training.CohortTrainer", no_training)
    second = command("train", "--data", table, "--seed", "0,1", *FAST)
    assert second.code == 0
    assert "2 of 2 runs were there already and were not trained again." in second.out
    assert set(first.out.splitlines()) < set(second.out.splitlines())
    assert {path: path.stat().st_mtime_ns for path in Path("runs").glob("*/*")} == written
    with pytest.raises(AssertionError, match="trained again"):
        command("train", "--data", table, "--seed", "2", *FAST)


def test_a_failed_run_is_told_and_the_others_go_on(command, table):
    answer = command("train", "--data", table, "--optimiser", "sgd", "--learning-rate", "1e30,0.1", *FAST)
    assert answer.code == 1
    lines = answer.out.splitlines()
    assert sum("failed  " in line for line in lines) == 1
    assert sum(line.startswith("★ limit-l") for line in lines) == 1
    [told] = [line for line in lines if line.startswith("failed: ")]
    assert "lower the learning rate" in told
    assert Path(told.split(": ")[1]).is_dir()


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_training_keeps_finished_runs_and_leaves_nothing_else(program, table, ending):
    typed = ["train", "--data", table, "--epochs", "1,1000000", "--patience", "1000000"]
    process = subprocess.Popen(
        [*program, *typed],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A script's shell starts background commands deaf to Ctrl-C; SIGTERM must end them all the same. The
        # tests themselves may be such a command.
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_IGN if ending == signal.SIGTERM else signal.SIG_DFL
        ),
    )
    try:
        give_up = time.monotonic() + 300
        while not list(Path("runs").glob("limit-l*")):
            assert process.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.05)
        process.send_signal(ending)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == (130 if ending == signal.SIGINT else 143)
    assert out == ""
    sentence, again = err.splitlines()
    kept = r"1 finished run( and epoch \d+ of 1 other are| is) kept"
    assert re.fullmatch(f"noiselimit: interrupted; {kept}, and the same command goes on:", sentence)
    assert again == f"noiselimit {shlex.join(map(str, typed))}"
    *remembered, done = sorted(Path("runs").iterdir())
    begun = [".checkpoints"] if "epoch" in sentence else []
    assert [path.name for path in remembered] == [*begun, ".command.json"]
    assert load_run(done).spec.epochs == 1


def test_settings_that_do_not_act_make_no_second_line(command, table):
    idle = ("--method", "ce,limit-l", "--predictor-network", "mlp,linear")
    answer = command("train", "--data", table, *idle, "--epochs", "1", "--json")
    assert [run["method"] for run in json.loads(answer.out)] == ["ce", "limit-l", "limit-l"]


@pytest.mark.parametrize(
    "option", ["predictor-network=mlp", "transition=uniform:0.4", "parent-learning-rate=0.1", "momentum=0.5"]
)
def test_a_setting_that_acts_nowhere_is_refused(command, table, option):
    answer = command("train", "--data", table, "--method", "ce", f"--{option}")
    assert answer.code == 2
    assert "acts in none of these runs: leave it out, or choose" in answer.err

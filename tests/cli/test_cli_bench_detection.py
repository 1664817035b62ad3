"""noiselimit bench detection: a table and a file, and what is refused before anything is trained."""

import json
from pathlib import Path

import pytest

from noiselimit.bench.detection import comparison, stage

QUICK = (
    "bench",
    "detection",
    "--quick",
    "--data",
    "digits",
    "--seed",
    "0",
    "--device",
    "cpu",
    "--threads",
    "1",
)


@pytest.fixture
def here(monkeypatch):
    """Trainings run in this process, which is quicker than starting one for each."""
    monkeypatch.setattr(
        comparison,
        "train_stage",
        lambda training, problem, labelled, how: stage._timed(training, labelled, problem.seed, how),
    )


def test_a_table_and_a_file(command, here):
    answer = command(*QUICK, "--noise", "uniform:0.2,none", "--examples", "120", "--out", "found.json")
    assert answer.code == 0
    assert "digits, uniform:0.2: 120 examples" in answer.out
    lines = [line for line in answer.out.splitlines() if line.startswith("ours-default")]
    assert len(lines) == 2
    assert lines[1].split()[1:4] == ["–", "–", "–"]  # with no label wrong nobody can be found
    assert "no figures to quote" in answer.out
    assert "Everything measured is in found.json" in answer.out
    assert "bench: digits-uniform-0.2-seed0, folds" in answer.err
    content = json.loads(Path("found.json").read_text())
    assert [row["problem"]["noise"] for row in content["rows"]] == ["uniform:0.2", "none"]
    again = command(*QUICK, "--noise", "none", "--examples", "120", "--out", "found.json", "--json")
    assert json.loads(again.out) == content  # what is there is not measured again
    assert [path.name for path in Path().iterdir()] == ["found.json"]


def test_failures_are_told(command, monkeypatch):
    def fail(*arguments):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(comparison, "train_stage", fail)
    answer = command(*QUICK, "--noise", "none")
    assert answer.code == 1
    assert "folds of digits, none failed: out of memory" in answer.out


def test_an_interruption_keeps_rows(command, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(comparison, "train_stage", interrupt)
        answer = command(*QUICK)
    assert answer.code == 130
    assert "no row is done yet, and the same command starts anew:\nnoiselimit bench " in answer.err
    stages = ["--without", "folds,plain,margins,threshold,default"]
    assert command(*QUICK, *stages).code == 0
    monkeypatch.setattr(comparison, "train_stage", interrupt)
    answer = command(*QUICK, *stages, "--noise", "uniform:0.3")
    assert answer.code == 130
    assert "rows that are done are kept, and the same command goes on:\nnoiselimit bench " in answer.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--noise", "next:x"], "--noise is 'next:x': give a number after 'next:', such as next:0.3."),
        (["--noise", "unifrom:0.2"], "unknown noise 'unifrom': did you mean 'uniform'?"),
        (["--seed", "a"], "--seed is 'a': give a whole number, or several separated by commas."),
        (["--threads", "0"], "--threads is 0: give a whole number ≥ 1."),
        (["--epochs", "0"], "--epochs is 0: give a whole number ≥ 1."),
        (["--data", "xyzzy"], "unknown data set 'xyzzy'"),
        (["--out", "."], "--out is ., a folder: name a file."),
        (["--score", "kept"], "--score is kept, but cleanlab, which is asked, is not installed"),
    ],
)
def test_refused(command, options, message):
    answer = command(*QUICK, *options)
    assert answer.code == 2
    assert message in answer.err
    assert len(answer.err.splitlines()) == 1
    assert not list(Path().iterdir())


def test_options_of_the_speed_bench_are_not_forgotten(command):
    answer = command("bench", "--quick", "detection")
    assert answer.code == 2
    assert answer.err == "noiselimit: --quick stands before 'detection': put it behind 'detection'.\n"
    assert "did you mean 'detection'?" in command("bench", "detect").err

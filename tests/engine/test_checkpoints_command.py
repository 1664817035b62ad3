"""The command line goes on where it was, and says so."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from broken_off import CtrlC, train_broken

from noiselimit import load_run
from noiselimit.cli.main import run
from noiselimit.data.mnist import digits
from noiselimit.runs.spec import grid

TYPED = ["--data", "digits", "--method", "ce", "--seed", "0,1", "--epochs", "4", "--network", "linear"]


@pytest.mark.filterwarnings("always::noiselimit.errors.Notice")
def test_the_same_command_goes_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    specs = grid(method="ce", seed=[0, 1], epochs=4, network="linear", train_size=60)
    broken, _ = train_broken(specs, digits(), tmp_path, after=2 * 3)
    assert broken is None
    typed = [*TYPED, "--train-size", "60", "--out", str(tmp_path), "--device", "cpu"]
    assert run(["train", *typed]) == 0
    told = capfd.readouterr()
    assert told.err.count("\n") == 1
    assert told.err == "noiselimit: 2 of 2 runs go on from epoch 3.\n"
    assert not (tmp_path / ".checkpoints").exists()
    assert run(["train", *typed]) == 0
    assert "go on" not in capfd.readouterr().err


def test_an_interval_that_is_none_is_told_before_data_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = ["--data", str(tmp_path / "absent.csv"), "--label", "y"]
    assert run(["train", *nowhere, "--checkpoints", "hourly"]) == 2
    assert (
        capsys.readouterr().err
        == "noiselimit: --checkpoints is 'hourly': give auto, off or a number of seconds ≥ 0.\n"
    )


@pytest.fixture
def interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of a training that Ctrl-C ended, started in the folder above."""
    monkeypatch.chdir(tmp_path)
    np.savez("t.npz", inputs=np.random.default_rng(1).normal(size=(60, 3)), labels=np.arange(60) % 3)
    typed = ["train", "--data", "t.npz", "--method", "ce", "--seed", "0,1", "--epochs", "5", "--threads", "1"]
    with monkeypatch.context() as patch:
        patch.setattr("noiselimit.cli.progress.training_progress", lambda quiet: CtrlC())
        assert run([*typed, "--device", "cpu", "--checkpoints", "0", "--out", "runs"]) == 130
    return tmp_path / "runs"


@pytest.mark.filterwarnings("always::noiselimit.errors.Notice")
def test_resume_needs_no_other_option(interrupted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["train", "--resume", "runs"]) == 0
    told = capsys.readouterr()
    assert "2 of 2 runs go on from epoch 2." in told.err
    runs = [load_run(path.parent) for path in interrupted.glob("*/spec.json")]
    assert sorted((each.spec.seed, each.metrics["last_epoch"]) for each in runs) == [(0, 5), (1, 5)]
    assert sorted(path.name for path in interrupted.iterdir() if path.name[0] == ".") == []
    assert run(["train", "--resume", "runs"]) == 2
    assert "runs holds no unfinished training: give the --out folder" in capsys.readouterr().err


def change(content: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {**content, "options": {**content["options"], **options}}


@pytest.mark.parametrize(
    ("altered", "sentence"),
    [
        (
            lambda content: {**content, "folder": "/elsewhere"},
            "call --resume from there or, if that was moved, type the command again.",
        ),
        (lambda content: {**content, "folder": ["/"]}, "cannot be read, or another version wrote it: type"),
        (lambda content: change(content, download=True), "cannot be read, or another version wrote it: type"),
        (lambda content: {**content, "format": 2}, "cannot be read, or another version wrote it: type"),
        (lambda content: change(content, unheard=1), "cannot be read, or another version wrote it: type"),
        (lambda content: change(content, epochs=[5]), "cannot be read, or another version wrote it: type"),
        (lambda content: change(content, config="c.toml"), "cannot be read, or another version wrote it"),
        (lambda content: [], "cannot be read, or another version wrote it: type the command again."),
        (lambda content: change(content, epochs="many"), "--epochs is 'many': give a whole number"),
    ],
)
def test_what_resume_cannot_go_on_from_is_said(
    interrupted: Path, capsys: pytest.CaptureFixture[str], altered: Callable[[Any], Any], sentence: str
) -> None:
    path = interrupted / ".command.json"
    path.write_text(json.dumps(altered(json.loads(path.read_text()))))
    capsys.readouterr()
    assert run(["train", "--resume", "runs"]) == 2
    assert sentence in capsys.readouterr().err


def test_resume_and_config_are_not_mixed(interrupted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.toml").write_text("data = 't.npz'\n")
    for arguments in (["--resume", "runs", "--config", "c.toml"], ["--config", "c.toml", "--resume", "runs"]):
        assert run(["train", *arguments]) == 2
        assert "leave out --config" in capsys.readouterr().err

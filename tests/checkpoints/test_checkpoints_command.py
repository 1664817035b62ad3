"""The command line goes on where it was, and says so."""

from pathlib import Path

import pytest
from broken_off import train_broken

from noiselimit.cli.main import run
from noiselimit.data.digits import digits
from noiselimit.grids import grid

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

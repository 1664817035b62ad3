"""An audit that was broken off goes on, and ends as one that never was."""

from pathlib import Path

import numpy as np
import pytest
from broken_off import CtrlC

from noiselimit.cli.main import run

TYPED = ["audit", "table.npz", "--epochs", "4", "--beta", "3", "--network", "linear", "--batch-size", "16"]


@pytest.mark.filterwarnings("always::noiselimit.errors.Notice")
def test_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(1)
    labels = np.arange(90) % 3
    np.savez("table.npz", inputs=generator.normal(size=(90, 3)) + 3 * np.eye(3)[labels], labels=labels)
    assert run([*TYPED, "--out", "whole", "--checkpoints", "off", "--device", "cpu"]) == 0
    with monkeypatch.context() as patch:
        patch.setattr("noiselimit.cli.progress.training_progress", lambda quiet: CtrlC())
        capsys.readouterr()
        assert run([*TYPED, "--out", "later", "--checkpoints", "0", "--device", "cpu"]) == 130
    assert capsys.readouterr().err.startswith(
        "noiselimit: interrupted; no audit was written, and the same command goes on:\nnoiselimit audit "
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [".later.unfinished", "table.npz", "whole"]
    assert run([*TYPED, "--out", "later", "--device", "cpu"]) == 0
    assert "1 of 1 runs go on from epoch 2." in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["later", "table.npz", "whole"]
    for name in ("label_issues.csv", "pred_probs.npy"):
        assert (tmp_path / "later" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()

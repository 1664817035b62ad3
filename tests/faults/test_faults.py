"""The short form of `make faults`: a process of its own, which forks the commands that are killed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parent.parent.parent / "tools" / "faults.py"


@pytest.mark.slow
def test_after_every_fault_a_command_goes_on_to_the_same_end(tmp_path: Path) -> None:
    out = tmp_path / "faults.json"
    answer = subprocess.run(
        [sys.executable, str(TOOL), "--short", "--out", str(out)], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    result = json.loads(out.read_text("utf-8"))
    assert result["findings"] == []
    kills = sum(entry["number"] for entry in result["kills"])
    assert kills >= 1
    assert (
        kills + result["missed"].get("kills", 0) >= 6
    )  # a few come too late, by chance or on a slow machine
    others = result["others"]
    assert (
        sum(number for name, number in others.items() if name.startswith("SIG"))
        + result["missed"].get("signals", 0)
        == 2
    )
    assert sum(number for name, number in others.items() if name.startswith("checkpoints: ")) == 2
    assert result["compared"]["folders"] >= 10

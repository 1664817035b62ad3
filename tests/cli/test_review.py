"""noiselimit review as a process, and what it says if it cannot serve."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import numpy as np
import pandas as pd
import pytest

from noiselimit.cli.main import run


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    labels = np.arange(60) % 2
    frame = pd.DataFrame({"x": labels + generator.normal(size=60), "label": labels})
    frame.to_csv("table.csv", index=False)
    assert (
        run(["audit", "table.csv", "--fast", "--epochs", "2", "--budget", "9", "--quiet", "--out", "a"]) == 0
    )
    return tmp_path / "a"


def heed_interrupts() -> None:
    """Undo what shells do to commands in the background, which ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_interrupted(audit: Path, end: signal.Signals) -> None:
    command = [sys.executable, "-m", "noiselimit", "review", "a", "--name", "ann"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, preexec_fn=heed_interrupts
    ) as process:
        assert process.stdout is not None
        url = re.findall(r"http://\S+", process.stdout.readline())[0]
        with httpx2.Client(follow_redirects=True) as client:
            assert "<title>Review</title>" in client.get(url).text
            base = url.partition("?")[0]
            body = {"rows": [{"row": 0}], "action": "keep", "reviewer": "ann"}
            origin = {"origin": base.rstrip("/")}
            assert client.post(f"{base}api/decide", json=body, headers=origin).status_code == 200
        process.send_signal(end)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "1 label decided" in out
    assert err == ""


def test_what_cannot_be_served(
    audit: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments, word in (
        (["missing"], "noiselimit audit"),
        (["a", "--port", "70000"], "--port"),
        (["a", "--host", "no.such.host.invalid"], "--host"),
        (["a", "--data", "elsewhere.csv"], "elsewhere.csv"),
    ):
        assert run(["review", *arguments]) == 2
        assert word in capsys.readouterr().err
    (audit.parent / "table.csv").write_text("x,label\n1,0\n")
    assert run(["review", "a"]) == 2
    assert "changed" in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "noiselimit.review.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert run(["review", "a"]) == 2
    assert "pip install" in capsys.readouterr().err

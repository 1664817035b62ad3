"""Ctrl-C and SIGTERM: exit code, one sentence, nothing half written, and the same command resumes."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from noiselimit import load_run


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_training_keeps_finished_runs(program, command, table, ending, code):
    endless = ["--epochs", "1,1000000", "--patience", "1000000", "--checkpoints", "0"]
    typed = ["train", "--data", str(table), *endless]
    process = subprocess.Popen(
        [*program, *typed],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Shells start background commands with SIGINT ignored, and the tests may be one.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        give_up = time.monotonic() + 300
        while not (list(Path("runs").glob("limit-l*")) and list(Path("runs/.checkpoints").glob("epoch-*"))):
            assert process.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.05)
        process.send_signal(ending)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert (process.returncode, out) == (code, "")
    assert err.splitlines()[-1].endswith(" ".join(typed))
    left = {path.name for path in Path("runs").iterdir()}
    [done] = left - {".checkpoints", ".command.json"}
    assert load_run(Path("runs", done)).spec.epochs == 1


@pytest.mark.filterwarnings("always::noiselimit.errors.Notice")
def test_an_interrupted_training_resumes(command, table, monkeypatch):
    typed = ("train", "--data", table, "--epochs", "4", "--method", "ce", "--checkpoints", "0", "--quiet")
    assert command(*typed, "--out", "whole").code == 0

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("noiselimit.runs.folder._write_contents", interrupted)
        assert command(*typed).code == 130
    assert Path("runs/.command.json").exists()
    assert command("train", "--resume", "runs", "--quiet").code == 0
    assert not Path("runs/.command.json").exists()
    [whole], [resumed] = (list(Path(folder).glob("ce-*")) for folder in ("whole", "runs"))
    assert whole.name == resumed.name
    assert (whole / "weights.safetensors").read_bytes() == (resumed / "weights.safetensors").read_bytes()


def test_an_interrupted_audit_resumes_and_leaves_nothing_behind(command, table, monkeypatch):
    typed = ("audit", table, "--fast", "--epochs", "2", "--quiet", "--out", "found")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("noiselimit.audit.fit.audit_data", interrupted)
        assert command(*typed).code == 130
    assert [path.name for path in Path().iterdir() if "found" in path.name and path.is_dir()] == []
    with monkeypatch.context() as patch:
        patch.setattr("noiselimit.audit.report.save_audit", interrupted)
        assert command(*typed).code == 130
    assert list(Path(".found.unfinished").glob("limit-l-*"))
    assert command(*typed).code == 0
    assert Path("found/report.html").exists()
    assert not Path(".found.unfinished").exists()

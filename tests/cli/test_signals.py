"""An interrupted command ends with 130 and resumes; tests/faults sends the signals."""

from pathlib import Path

import pytest


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
        answer = command(*typed)
    assert answer.code == 130
    assert "nothing was saved" in answer.err
    assert [path.name for path in Path().iterdir() if "found" in path.name and path.is_dir()] == []
    with monkeypatch.context() as patch:
        patch.setattr("noiselimit.audit.report.save_audit", interrupted)
        answer = command(*typed)
    assert answer.code == 130
    assert "are kept" in answer.err
    assert list(Path(".found.unfinished").glob("limit-l-*"))
    assert command(*typed).code == 0
    assert Path("found/report.html").exists()
    assert not Path(".found.unfinished").exists()


def test_an_audit_is_complete_before_it_is_printed(command, table, monkeypatch):
    def closed(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("noiselimit.cli.audit._print_answer", closed)
    monkeypatch.setattr("noiselimit.cli.main._discard_output", lambda: None)
    assert command("audit", table, "--fast", "--epochs", "2", "--quiet", "--out", "found").code == 141
    assert Path("found/report.html").exists()
    assert not Path(".found.unfinished").exists()

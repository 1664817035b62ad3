"""An interrupted command ends with 130 and resumes; tests/faults sends the signals."""

from pathlib import Path


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
        patch.setattr("noiselimit.audit.folder.save_audit", interrupted)
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
